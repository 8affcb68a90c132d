//go:build !unix

package metrics

import "time"

func cpuTime() (time.Duration, bool)  { return 0, false }
func residentMemory() (float64, bool) { return 0, false }
func openFiles() (float64, bool)      { return 0, false }
