package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// NATS are the flags for --to nats://. What is secret comes from files: everybody sees
// the arguments of a process.
type NATS struct {
	CreateStream string
	// One of these files says who dwatch is; empty: none.
	Creds, NKey, Login string
	flags              *pflag.FlagSet
}

var (
	natsIdentities = []string{"nats-creds", "nats-nkey", "nats-login"}
	natsOnly       = append([]string{"create-stream"}, natsIdentities...)
)

// natsWorkers is the default of --workers for a NATS server: how many acknowledgements
// are under way.
const natsWorkers = 64

func (n *NATS) addTo(f *pflag.FlagSet) {
	n.flags = f
	f.StringVar(&n.CreateStream, "create-stream", "", "With --to nats://, make the stream `NAME` if no stream takes the events")
	f.StringVar(&n.Creds, "nats-creds", "", "Log in to NATS with the credentials that are in `FILE`")
	f.StringVar(&n.NKey, "nats-nkey", "", "Log in to NATS with the seed of an NKey that is in `FILE`")
	f.StringVar(&n.Login, "nats-login", "", "Log in to NATS with USER:PASSWORD, or the token, that is in `FILE`")
	notEmpty(f, natsOnly...)
}

// check finds flags that make no sense for an address, or together.
func (n *NATS) check(to string) error {
	if name := given(n.flags, natsOnly...); name != "" && !isNATS(to) {
		return fmt.Errorf("--%s is for NATS: it needs --to nats://HOST/PREFIX", name)
	}
	var identities []string
	for _, name := range natsIdentities {
		if n.flags.Changed(name) {
			identities = append(identities, "--"+name)
		}
	}
	switch {
	case len(identities) > 1:
		return fmt.Errorf("%s: one of them says who dwatch is", strings.Join(identities, " and "))
	case strings.ContainsFunc(n.CreateStream, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`.*>/\`, c) }):
		return errors.New("invalid --create-stream: the name of a stream has no dot, space, *, >, / or \\")
	}
	return nil
}

// checkNATSAddress keeps what is secret off a line that others can read.
func (d *Delivery) checkNATSAddress() error {
	if d.Login != "" && d.URL.Scheme == "nats" && !isLoopback(d.URL) && !d.TLS.given() {
		return errors.New("--nats-login would send a password in the clear: it takes --to tls://HOST/PREFIX")
	}
	return nil
}
