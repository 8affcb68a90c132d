package cli

// go mod tidy does not look into testdata: what only the tests of the program need
// is named here.
import _ "github.com/rogpeppe/go-internal/testscript"
