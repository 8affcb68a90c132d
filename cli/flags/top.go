package flags

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"dwatch/output/top"
)

// Top holds the flags of dwatch top.
type Top struct {
	Interval time.Duration // between tables; zero means the default of EffectiveInterval
	Count    int           // number of tables; 0 means no limit
	Rows     int           // rows per table; 0 means all
	By       top.RankBy
}

// The default intervals between tables, on a terminal (topOnScreen) and elsewhere.
const (
	topInterval = 10 * time.Second
	topOnScreen = time.Second
)

func (t *Top) AddTo(f *pflag.FlagSet) {
	f.DurationVar(&t.Interval, "interval", 0, "Print every `DURATION`; by default every second for a table at a terminal, otherwise every 10s, or with --timeout once, at the end")
	takes(f, "interval", func(text string) error {
		if t.Interval < time.Second {
			return fmt.Errorf("invalid --interval %s: it takes a duration of at least 1s", text)
		}
		return nil
	})
	f.IntVar(&t.Count, "count", 0, "End after printing `N` times")
	takes(f, "count", func(text string) error {
		if t.Count < 1 {
			return fmt.Errorf("invalid --count %s: it takes a number, at least 1", text)
		}
		return nil
	})
}

// AddRowsTo adds --by and --rows.
func (t *Top) AddRowsTo(f *pflag.FlagSet) {
	all := []string{string(top.ByObject), string(top.ByField), string(top.ByManager)}
	f.StringVar((*string)(&t.By), "by", all[0], "Rank by `WHAT` changes: object, field (of each object) or manager (who changes it)")
	describeBriefly(f, "by", "Rank by `WHAT` changes: object, field or manager")
	offers(f, "by", all...)
	takes(f, "by", func(text string) error {
		if !slices.Contains(all, text) {
			return invalid("by", text, errors.New("it takes object, field or manager"))
		}
		return nil
	})
	f.IntVar(&t.Rows, "rows", 20, "Print the first `N` rows, and all rows with a fight or a hot loop; 0 prints all")
	takes(f, "rows", func(text string) error {
		if t.Rows < 0 {
			return fmt.Errorf("invalid --rows %s: it takes a number", text)
		}
		return nil
	})
}

// EffectiveInterval returns the time between two tables. Zero means a single table at the end.
func (t *Top) EffectiveInterval(isTerminal bool, timeout time.Duration) time.Duration {
	switch {
	case t.Interval > 0:
		return t.Interval
	case isTerminal:
		return topOnScreen
	case timeout > 0 && t.Count == 0:
		return 0
	}
	return topInterval
}
