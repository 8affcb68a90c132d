package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

// TestRedeliverFlags: --redeliver takes the flags that say how to reach a receiver, and
// none of what is about watching.
func TestRedeliverFlags(t *testing.T) {
	for flag, taken := range map[string]bool{
		"--to-token-file=token": true,
		"--to-ca=ca":            true,
		"--workers=2":           true,
		"--context=other":       true,
		"--quiet":               true,
		"--timeout=1m":          true,
		"--all-namespaces":      false,
		"--state=f":             false,
		"--serve":               false,
	} {
		o := &options{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(f)
		if err := f.Parse([]string{"--redeliver=letters", "--to=https://example.com", flag}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.parse(f.Args(), terminal{}); (err == nil) != taken {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
