package flags

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Settle holds the flags that combine successive changes into one event. dwatch emits the event when nothing has
// changed for Quiet, or after Max. A zero Quiet disables this.
type Settle struct {
	Quiet, Max time.Duration
	flags      *pflag.FlagSet
}

const (
	minSettle     = time.Second
	defaultSettle = 10 * time.Minute // the default of --max-settle
)

func (s *Settle) AddTo(f *pflag.FlagSet) {
	s.flags = f
	f.DurationVar(&s.Quiet, "settle", 0, "Wait until an object and the objects that it owns have not changed for `DURATION`, e.g. 30s, and send one event for all changes, such as for a rollout")
	describeBriefly(f, "settle", "Send one event when an object has not changed for `DURATION`, e.g. 30s")
	f.DurationVar(&s.Max, "max-settle", defaultSettle, "With --settle, send the event after `DURATION` even if the changes continue")
}

// IsSet reports whether --settle is given.
func (s *Settle) IsSet() bool { return s.Quiet > 0 }

// Parse returns an error for durations that are out of range or contradict each other.
func (s *Settle) Parse() error {
	switch {
	case s.flags.Changed("max-settle") && !s.flags.Changed("settle"):
		return errors.New("--max-settle limits the wait of --settle: it needs --settle")
	case s.flags.Changed("settle") && s.Quiet < minSettle:
		return fmt.Errorf("invalid --settle %s: it takes a duration of at least %s, such as 30s", s.Quiet, minSettle)
	case s.IsSet() && s.Max < s.Quiet:
		return fmt.Errorf("--max-settle %s is less than --settle %s: it takes a duration such as %s", s.Max, s.Quiet, defaultSettle)
	}
	return nil
}
