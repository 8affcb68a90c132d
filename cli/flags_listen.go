package cli

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/pflag"

	"dwatch/output"
)

// listenFlags say where the run answers how it is.
type listenFlags struct {
	listen string // HOST:PORT; empty: nowhere
}

func (o *options) addListenFlags(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "", "Answer on `ADDR`, such as :9090, over HTTP how the run is: /metrics for Prometheus, /healthz and /readyz")
	notEmpty(f, "listen")
}

// parseListen checks the form of the address.
func (o *options) parseListen(r *request) error {
	if !o.given("listen") {
		return nil
	}
	if _, port, err := net.SplitHostPort(o.listen); err != nil || port == "" {
		return fmt.Errorf("invalid --listen %q: it takes HOST:PORT, such as 127.0.0.1:9090, or :9090 for all interfaces", output.Line(o.listen))
	}
	if o.list || o.printRBAC {
		return errors.New("--list and --print-rbac end at once: they do not go with --listen")
	}
	r.listen = o.listen
	return nil
}
