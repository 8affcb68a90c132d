package cli

import "os"

// guard is nothing here.
type guard struct{}

func newGuard(*os.File) *guard { return nil }

func (*guard) release() {}
