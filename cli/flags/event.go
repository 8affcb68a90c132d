package flags

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"dwatch/watcher/filter"
)

// Events say which events come out.
type Events struct {
	watchOnly bool
	types     []string
}

// AddTo adds the flags to f.
func (e *Events) AddTo(f *pflag.FlagSet) {
	f.BoolVar(&e.watchOnly, "watch-only", false, "Leave out the objects that exist at the start")
	f.StringSliceVar(&e.types, "types", nil, "Take only events of these `TYPES`: added, modified, deleted")
	notEmpty(f, "types")
}

// Parse returns the filter, without marks and conditions.
func (e *Events) Parse() (filter.Options, error) {
	types, err := filter.ParseTypes(e.types)
	return filter.Options{WatchOnly: e.watchOnly, Types: types}, err
}

// Marks say what is printed about the watch itself.
type Marks struct {
	On        bool
	Heartbeat time.Duration // 0: none
}

// AddTo adds the flags to f.
func (m *Marks) AddTo(f *pflag.FlagSet) {
	f.BoolVar(&m.On, "marks", false, "Print marks, too, as lines without object: SYNCED, DISCONNECTED, RECONNECTED, GAP, GONE, ARRIVED, DENIED")
	f.DurationVar(&m.Heartbeat, "heartbeat", 0, "Print a HEARTBEAT line every `DURATION`, e.g. 30s: whether all is connected, and when the last event came")
}

// minHeartbeat keeps heartbeats from drowning the events.
const minHeartbeat = time.Second

// Check finds what makes no sense.
func (m *Marks) Check() error {
	if m.Heartbeat != 0 && m.Heartbeat < minHeartbeat {
		return fmt.Errorf("invalid --heartbeat %s: it takes a duration of at least %s", m.Heartbeat, minHeartbeat)
	}
	return nil
}

// State is the file that a run carries on from.
type State struct {
	Path  string // empty: none
	flags *pflag.FlagSet
}

// AddTo adds the flag to f.
func (s *State) AddTo(f *pflag.FlagSet) {
	s.flags = f
	f.StringVar(&s.Path, "state", "", "Carry on from `FILE`: keep in it what has come out, and what waits to be delivered; after a restart only what is different comes")
}

// Check finds what makes no sense.
func (s *State) Check() error {
	if s.flags.Changed("state") && s.Path == "" {
		return errors.New("--state takes a file")
	}
	return nil
}
