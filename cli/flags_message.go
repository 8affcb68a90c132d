package cli

import "github.com/spf13/pflag"

// messageFlags say what is written to stderr.
type messageFlags struct {
	quiet     bool
	verbosity int
}

// addMessageFlags also adds the flags that cobra looks for: else it would add its own,
// which have no group.
func (o *options) addMessageFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.quiet, "quiet", "q", false, "Nothing but errors on stderr, and what is missing or can't be judged")
	f.IntVarP(&o.verbosity, "v", "v", 0, "Log `LEVEL` of the Kubernetes client on stderr; 6 shows each request")
	o.addListenFlags(f)
	f.BoolP("watch", "w", false, "Without effect: dwatch watches")
	f.BoolP("help", "h", false, "Print this help, and end")
	f.Bool("version", false, "Print the version, and end")
}
