package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestReceiverDefaults: how many events are under way, and for how long, is another thing for
// each kind of receiver.
func TestReceiverDefaults(t *testing.T) {
	for _, test := range []struct {
		args     []string
		workers  int
		deadline time.Duration
	}{
		{[]string{"cm", "--", "true"}, 1, time.Minute},
		{[]string{"cm", "--to=https://example.com"}, 8, 30 * time.Second},
		{[]string{"cm", "--to=https://example.com", "--workers=1", "--deadline=1m"}, 1, time.Minute},
		{[]string{"cm", "--to=nats://example.com/p"}, 64, time.Minute},
	} {
		o := &options{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(f)
		if err := f.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		r, err := o.parse(f.Args(), terminal{})
		if err != nil {
			t.Fatal(err)
		}
		if r.workers != test.workers || r.deadline != test.deadline {
			t.Errorf("%q: %d for %s", test.args, r.workers, r.deadline)
		}
	}
}
