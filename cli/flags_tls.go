package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// tlsFlags say whom to trust, and as whom to come, where the receiver speaks TLS.
type tlsFlags struct{ toCert, toKey, toCA string }

func (o *options) addTLSFlags(f *pflag.FlagSet) {
	t := &o.tlsFlags
	f.StringVar(&t.toCert, "to-cert", "", "Show the receiver the client certificate that is in `FILE`, and whose key --to-key has")
	f.StringVar(&t.toKey, "to-key", "", "`FILE` with the key of --to-cert")
	f.StringVar(&t.toCA, "to-ca", "", "Trust a receiver with a certificate of the authorities that are in `FILE`, and no other")
	notEmpty(f, tlsOnly...)
}

var tlsOnly = []string{"to-cert", "to-key", "to-ca"}

func (o *options) checkTLS() error {
	for _, name := range tlsOnly {
		if o.given(name) && !isWebhook(o.to) && !isNATS(o.to) {
			return fmt.Errorf("--%s is for a receiver that speaks TLS: it needs --to https://HOST/PATH or tls://HOST/PREFIX", name)
		}
	}
	if o.given("to-cert") != o.given("to-key") {
		return errors.New("--to-cert and --to-key go together")
	}
	return nil
}
