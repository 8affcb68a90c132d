package cli

import (
	"testing"
	"time"
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
		{[]string{"cm", "--to=kafka://a,b:9093/p"}, 64, time.Minute},
	} {
		_, r, err := parsed(append([]string{"send"}, test.args...))
		if err != nil {
			t.Fatal(err)
		}
		d := r.(*watchTask).receiver.where
		if d.Workers != test.workers || d.Deadline != test.deadline {
			t.Errorf("%q: %d for %s", test.args, d.Workers, d.Deadline)
		}
	}
}
