package flags

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// TLS says whom to trust, and as whom to come, where the receiver speaks TLS: files.
type TLS struct {
	Cert, Key, CA string
	flags         *pflag.FlagSet
}

var tlsOnly = []string{"to-cert", "to-key", "to-ca"}

func (t *TLS) addTo(f *pflag.FlagSet) {
	t.flags = f
	f.StringVar(&t.Cert, "to-cert", "", "Show the receiver the client certificate that is in `FILE`, and whose key --to-key has")
	f.StringVar(&t.Key, "to-key", "", "`FILE` with the key of --to-cert")
	f.StringVar(&t.CA, "to-ca", "", "Trust a receiver with a certificate of the authorities that are in `FILE`, and no other")
	notEmpty(f, tlsOnly...)
}

func (t *TLS) given() bool { return t.Cert+t.Key+t.CA != "" }

// check finds flags that make no sense for an address, or together.
func (t *TLS) check(to string) error {
	if name := given(t.flags, tlsOnly...); name != "" && !isWebhook(to) && !isNATS(to) {
		return fmt.Errorf("--%s is for a receiver that speaks TLS: it needs --to https://HOST/PATH or tls://HOST/PREFIX", name)
	}
	if t.flags.Changed("to-cert") != t.flags.Changed("to-key") {
		return errors.New("--to-cert and --to-key go together")
	}
	return nil
}
