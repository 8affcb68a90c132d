package flags

import (
	"fmt"
	"net"

	"github.com/spf13/pflag"

	"dwatch/output"
)

// Messages say what is written to stderr.
type Messages struct {
	Quiet     bool
	Verbosity int
}

// AddTo also adds the flags that cobra looks for: else it would add its own, which have no group.
func (m *Messages) AddTo(f *pflag.FlagSet) {
	f.BoolVarP(&m.Quiet, "quiet", "q", false, "Nothing but errors on stderr, and what is missing or can't be evaluated")
	f.IntVarP(&m.Verbosity, "v", "v", 0, "Log `LEVEL` of the Kubernetes client on stderr; 6 shows each request")
	f.BoolP("help", "h", false, "Print this help, and end")
}

// Listen is where the run answers how it is, HOST:PORT; empty: nowhere.
func Listen(to *string) Adder {
	return func(f *pflag.FlagSet) {
		f.StringVar(to, "listen", "", "Answer on `ADDR`, such as :9090, over HTTP how the run is: /metrics for Prometheus, /healthz and /readyz")
		offers(f, "listen", ":9090", "127.0.0.1:9090")
		takes(f, "listen", func(text string) error {
			if _, port, err := net.SplitHostPort(text); err != nil || port == "" {
				return fmt.Errorf("invalid --listen %q: it takes HOST:PORT, such as 127.0.0.1:9090, or :9090 for all interfaces", output.Line(text))
			}
			return nil
		})
		notEmpty(f, "listen")
	}
}
