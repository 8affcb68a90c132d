package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
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
	if r.address == nil || !isNATS(r.address.Scheme) {
		return nil
	}
	if !o.given("workers") {
		r.workers = natsWorkers
	}
	if port := r.address.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("invalid --to: the port of the URL is a number from 1 to 65535")
		}
	}
	host := r.address.Hostname()
	isLocal := host == "localhost" || net.ParseIP(host).IsLoopback()
	if o.given("nats-login") && r.address.Scheme == "nats" && !isLocal && o.tlsFlags == (tlsFlags{}) {
		return errors.New("--nats-login would send a password in the clear: it takes --to tls://HOST/PREFIX")
	}
	return nil
}

// tlsFlags say whom to trust, and as whom to come, where the receiver speaks TLS.
type tlsFlags struct{ cert, key, ca string }

func (o *options) addTLSFlags(f *pflag.FlagSet) {
	t := &o.tlsFlags
	f.StringVar(&t.cert, "to-cert", "", "Show the receiver the client certificate that is in `FILE`, and whose key --to-key has")
	f.StringVar(&t.key, "to-key", "", "`FILE` with the key of --to-cert")
	f.StringVar(&t.ca, "to-ca", "", "Trust a receiver with a certificate of the authorities that are in `FILE`, and no other")
	notEmpty(f, tlsOnly...)
}

var tlsOnly = []string{"to-cert", "to-key", "to-ca"}

func (o *options) checkTLS() error {
	for _, name := range tlsOnly {
		if o.given(name) && !isNATS(o.to) {
			return fmt.Errorf("--%s is for a receiver that speaks TLS: it needs --to tls://HOST/PREFIX", name)
		}
	}
	if o.given("to-cert") != o.given("to-key") {
		return errors.New("--to-cert and --to-key go together")
	}
	return nil
}

// checkReceiverKinds finds flags of another kind of receiver than that of the run.
func (o *options) checkReceiverKinds() error { return cmp.Or(o.checkNATS(), o.checkTLS()) }
