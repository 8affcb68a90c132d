package flags

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dwatch/watcher/filter"
)

// Events adds the flags that select events.
func Events(to *filter.Options) Adder {
	return func(f *pflag.FlagSet) {
		f.BoolVar(&to.WatchOnly, "watch-only", false, "Leave out the objects that exist at the start")
		f.StringSlice("types", nil, "Include only events of the given `TYPES`: added, modified, deleted")
		offers(f, "types", "added", "modified", "deleted")
		takes(f, "types", func(text string) error {
			types, err := filter.ParseTypes(strings.Split(text, ","))
			to.Types = append(to.Types, types...)
			return err
		})
		notEmpty(f, "types")
	}
}

// minHeartbeat is the smallest value of --heartbeat.
const minHeartbeat = time.Second

// StatusEvents adds --marks and --heartbeat, which print status events. A zero heartbeat means none.
func StatusEvents(on *bool, heartbeat *time.Duration) Adder {
	return func(f *pflag.FlagSet) {
		f.BoolVar(on, "marks", false, "Print status events, too, as lines without an object: SYNCED, DISCONNECTED, RECONNECTED, GAP, GONE, ARRIVED, JOINED, LEFT, DENIED")
		f.DurationVar(heartbeat, "heartbeat", 0, "Print a HEARTBEAT line every `DURATION`, e.g. 30s, with the connection status and the time of the last event")
		takes(f, "heartbeat", func(text string) error {
			if *heartbeat != 0 && *heartbeat < minHeartbeat {
				return fmt.Errorf("invalid --heartbeat %s: it takes a duration of at least %s", text, minHeartbeat)
			}
			return nil
		})
	}
}

// State adds --state, the file that a run resumes from. If *path is empty, there is none.
func State(path *string) Adder {
	return func(f *pflag.FlagSet) {
		f.StringVar(path, "state", "", "Resume from `FILE`; dwatch saves in it reported states and undelivered events; after a restart, only differences are reported")
		describeBriefly(f, "state", "Save the progress in `FILE`, and resume from it")
		takes(f, "state", func(text string) error {
			if text == "" {
				return errors.New("--state takes a file")
			}
			return nil
		})
	}
}
