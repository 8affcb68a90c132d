package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/cli/replay"
)

// rewindOptions are the flags of live and serve for a recording.
type rewindOptions struct {
	from flags.From // a recording, or empty
	at   time.Time
	span flags.TimeRange
}

func (r *rewindOptions) addTo(f *pflag.FlagSet) {
	r.from.AddTo(f)
	flags.At("With --from, begin with the objects that existed at `TIME`: how long ago, such as 2h, a time of today, such as 02:55, or a date and a time; by default at its end")(f)
	flags.SinceBefore("With --from, start of the time range; `TIME` is by default an hour before --at", "With --from, end of the time range; `TIME` is by default an hour after --at")(f)
}

// read reads the flags of a command.
func (r *rewindOptions) read(all *pflag.FlagSet) error {
	if err := cmp.Or(flags.ParseTimeFlag(all, "at", &r.at), r.span.Parse(all), r.from.Check(all)); err != nil {
		return err
	}
	given := func(flag string) bool { return all.Changed(flag) }
	switch {
	case !r.from.IsSet():
		for _, name := range []string{"at", "since", "before"} {
			if given(name) {
				return fmt.Errorf("--%s is for a recording: it needs --from DIR", name)
			}
		}
	case given("where"):
		return errors.New("--from shows all recorded objects: it cannot be combined with --where; type /where EXPR in the table")
	case given("until"), given("fail-if"):
		return errors.New("dwatch live --from evaluates no conditions: --until and --fail-if are for dwatch RESOURCE... --from")
	case !r.at.IsZero() && (r.at.Before(r.span.Since) || !r.span.Before.IsZero() && r.at.After(r.span.Before)):
		return errors.New("--at must be between --since and --before")
	}
	return nil
}

func (r *rewindOptions) replay() replay.Options {
	return replay.Options{From: r.from, Span: r.span, At: r.at, Around: true}
}
