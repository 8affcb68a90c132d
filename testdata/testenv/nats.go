package testenv

import (
	"net/url"
	"strings"
)

// NATS is a NATS server: the program of testdata/nats, as a child process that can't
// outlive the test binary.
type NATS struct {
	child
	flags []string
}

// StartNATS starts one on a port of its own, and returns when it is ready. dir is where
// JetStream stores, empty: there is none; and flags are those of nats-server. The caller
// must call Kill.
func StartNATS(dir string, flags ...string) (*NATS, error) {
	n := &NATS{flags: flags}
	if dir != "" {
		n.flags = append([]string{"--store_dir", dir}, flags...)
	}
	return n, n.start("-1")
}

// Restart starts it again after Kill, on the same port, with what it has stored.
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
