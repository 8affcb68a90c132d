package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/output/live"
)

// rewound is what is asked of a recording by who looks around in it.
type rewound struct {
	from flags.From // the recording; none: a cluster is asked
	at   time.Time
	span flags.TimeRange
	// playing has what it rests on, once it has been read.
	playing *playing
}

// around is how much is read before and after the time that is shown first, unless that is said.
const around = time.Hour

func (r *rewound) addTo(f *pflag.FlagSet) {
	r.from.AddTo(f)
	flags.At("With --from, begin with what was there at `TIME`: how long ago, such as 2h, a time of today, such as 02:55, or a date and a time; by default at its end")(f)
	flags.SinceBefore("With --from, look around from `TIME` on; by default from an hour before --at", "With --from, look around before `TIME`; by default until an hour after --at")(f)
}

// read takes in the flags, when all are there.
func (r *rewound) read(all *pflag.FlagSet) error {
	if err := cmp.Or(flags.ParseTimeFlag(all, "at", &r.at), r.span.Parse(all), r.from.Check(all)); err != nil {
		return err
	}
	given := func(flag string) bool { return all.Changed(flag) }
	switch {
	case !r.from.IsSet():
		for _, name := range []string{"at", "since", "before"} {
			if given(name) {
				return fmt.Errorf("--%s asks a recording: it needs --from DIR", name)
			}
		}
	case given("where"):
		return errors.New("--from shows all that was there: it does not go with --where (type /where there)")
	case given("until"), given("fail-if"):
		return errors.New("dwatch live --from looks around and evaluates nothing: --until and --fail-if are for dwatch RESOURCE... --from")
	case !r.at.IsZero() && (r.at.Before(r.span.Since) || !r.span.Before.IsZero() && r.at.After(r.span.Before)):
		return errors.New("--at is not between --since and --before")
	}
	return nil
}

// aim says what is read of a recording.
func (r *rewound) aim(of *recordingOf) flags.TimeRange {
	span, at := r.span, r.at
	if at.IsZero() {
		at = of.end()
		if span.Before.After(span.Since) && span.Before.Before(at) {
			at = span.Before
		}
	}
	if from := at.Add(-around); span.Since.IsZero() && from.After(of.begin()) {
		span.Since = from
	}
	if to := at.Add(around); span.Before.IsZero() && to.Before(of.end()) {
		span.Before = to
	}
	return span
}

// showOn shows what has been read.
func (r *rewound) showOn(s *live.Screen, timestamps bool) {
	found := r.playing.found
	if !found.isKnown() {
		return
	}
	exactly := func(t time.Time) string { return output.FormatTimeMillis(t, time.Now(), timestamps) }
	s.SetLoaded(found.from(), found.settled(), found.to(), func(t time.Time) string {
		var why []string
		for _, one := range found {
			why = append(why, one.whyUnknown(t, exactly)...)
		}
		return strings.Join(why, "; ")
	})
}

// whyUnknown says why it is not known what was there at a time.
func (a *proven) whyUnknown(t time.Time, exactly func(time.Time) string) (why []string) {
	switch {
	case a.proof == nil:
		why = append(why, "not known")
	case t.After(a.proof.To):
		why = append(why, "not known: what was after "+exactly(a.proof.To))
	default:
		for _, g := range a.proof.AtInstant(t).Gaps {
			why = append(why, g.Describe(exactly))
		}
	}
	if len(why) > 0 {
		why[0] = atNamed(a.cluster, errors.New(why[0])).Error()
	}
	return why
}

// pastScreen is a screen that shows a recording.
type pastScreen struct {
	*replayed
	screen *screen
}

func (s *pastScreen) run(ctx context.Context, c *console) error {
	defer s.screen.take(c)()
	return s.replayed.run(ctx, c)
}
