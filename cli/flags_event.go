package cli

import (
	"time"

	"github.com/spf13/pflag"

	"dwatch/watcher/filter"
)

// eventFlags say which events are printed.
type eventFlags struct {
	watchOnly bool
	types     []string
	marks     bool
	heartbeat time.Duration
}

func (o *options) addEventFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.watchOnly, "watch-only", false, "Leave out the objects that exist at the start")
	f.StringSliceVar(&o.types, "types", nil, "Print only events of these `TYPES`: added, modified, deleted")
	f.BoolVar(&o.marks, "marks", false, "Print marks, too, as lines without object: SYNCED, DISCONNECTED, RECONNECTED, GAP, GONE, ARRIVED, DENIED")
	f.DurationVar(&o.heartbeat, "heartbeat", 0, "Print a HEARTBEAT line every `DURATION`, e.g. 30s: whether all is connected, and when the last event came")
	o.addWhereFlag(f)
	notEmpty(f, "types")
}

// parseEvents needs to know the format.
func (o *options) parseEvents(r *request) (err error) {
	r.heartbeat = o.heartbeat
	r.filter.WatchOnly = o.watchOnly
	r.filter.Marks = o.marks || o.output == changesFormat || o.live // they say what is there at the start
	r.filter.Types, err = filter.ParseTypes(o.types)
	return err
}
