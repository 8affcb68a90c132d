package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// natsFlags are for --to nats://. What is secret comes from files: everybody sees the
// arguments of a process.
type natsFlags struct {
	createStream string
	natsCreds    string
	natsNKey     string
	natsLogin    string
}

// natsOnly are the names of the flags that take a NATS server, and natsIdentities those
// of them that say who dwatch is.
var (
	natsIdentities = []string{"nats-creds", "nats-nkey", "nats-login"}
	natsOnly       = append([]string{"create-stream"}, natsIdentities...)
)

// natsWorkers is the default of --workers for a NATS server: how many acknowledgements
// are under way.
const natsWorkers = 64

func (o *options) addNATSFlags(f *pflag.FlagSet) {
	n := &o.natsFlags
	f.StringVar(&n.createStream, "create-stream", "", "With --to nats://, make the stream `NAME` if no stream takes the events")
	f.StringVar(&n.natsCreds, "nats-creds", "", "Log in to NATS with the credentials that are in `FILE`")
	f.StringVar(&n.natsNKey, "nats-nkey", "", "Log in to NATS with the seed of an NKey that is in `FILE`")
	f.StringVar(&n.natsLogin, "nats-login", "", "Log in to NATS with USER:PASSWORD, or the token, that is in `FILE`")
	notEmpty(f, natsOnly...)
}

// checkNATS finds flags that make no sense without a NATS server, or together.
func (o *options) checkNATS() error {
	var identities []string
	for _, name := range natsOnly {
		if o.given(name) && !isNATS(o.to) {
			return fmt.Errorf("--%s is for NATS: it needs --to nats://HOST/PREFIX", name)
		}
	}
	for _, name := range natsIdentities {
		if o.given(name) {
			identities = append(identities, "--"+name)
		}
	}
	switch {
	case len(identities) > 1:
		return fmt.Errorf("%s: one of them says who dwatch is", strings.Join(identities, " and "))
	case o.given("create-stream") && strings.ContainsFunc(o.createStream, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`.*>/\`, c) }):
		return errors.New("invalid --create-stream: the name of a stream has no dot, space, *, >, / or \\")
	}
	return nil
}

func isNATS(address string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	return scheme == "nats" || scheme == "tls"
}

// parseNATS sets what is particular to a NATS server.
func (o *options) parseNATS(r *request) error {
	if !o.given("workers") {
		r.workers = natsWorkers
	}
	if o.given("nats-login") && r.address.Scheme == "nats" && !isLoopback(r.address) && o.tlsFlags == (tlsFlags{}) {
		return errors.New("--nats-login would send a password in the clear: it takes --to tls://HOST/PREFIX")
	}
	return nil
}
