package cli

import "os"

// statusSignals: nobody can ask here.
var statusSignals []os.Signal
