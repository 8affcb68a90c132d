package testenv

import (
	"net/url"
	"strings"
)

// NATS is a NATS server: the program in testdata/nats.
type NATS struct {
	child
	flags []string
}

// StartNATS starts a server on a free port and returns when it is ready. JetStream stores its data in dir. If dir is
// empty, JetStream is off. flags are passed to nats-server. The caller must call Kill.
func StartNATS(dir string, flags ...string) (*NATS, error) {
	n := &NATS{flags: flags}
	if dir != "" {
		n.flags = append([]string{"--store_dir", dir}, flags...)
	}
	return n, n.start("-1")
}

// Restart starts the server again after Kill, on the same port and with its stored data.
func (n *NATS) Restart() error {
	_, port, _ := strings.Cut(n.Address, ":")
	return n.start(port)
}

func (n *NATS) start(port string) error {
	return n.run("nats", "DWATCH_NATS", append([]string{"--addr", "127.0.0.1", "--port", port}, n.flags...), func(line string) string {
		if address, err := url.Parse(line); err == nil {
			return address.Host
		}
		return ""
	})
}
