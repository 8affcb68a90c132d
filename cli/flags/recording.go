package flags

import (
	"cmp"
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// Retention holds the flags that limit the size of a recording. The zero value keeps everything.
type Retention struct {
	MaxAge  time.Duration
	MaxSize int64 // bytes
}

func (k *Retention) AddTo(f *pflag.FlagSet) {
	f.String("keep", "", "Delete data older than `TIME` from the recording, such as 30d or 12h")
	offers(f, "keep", "12h", "7d", "30d")
	takes(f, "keep", func(text string) error {
		ago, ok := parseAgo(text)
		if k.MaxAge = ago; !ok || ago <= 0 {
			return invalid("keep", text, errors.New("it takes a time such as 30d or 12h"))
		}
		return nil
	})
	f.String("max-size", "", "Delete the oldest data when the recording is larger than `SIZE`, such as 10Gi")
	offers(f, "max-size", "1Gi", "10Gi")
	takes(f, "max-size", func(text string) error {
		size, ok := parseSize(text, minKept, maxKept)
		if k.MaxSize = size; !ok {
			return invalid("max-size", text, errors.New("it takes a number of bytes from 1Mi to 1Pi, such as 500Mi or 10Gi"))
		}
		return nil
	})
	notEmpty(f, "keep", "max-size")
}

// Recording holds the flags of commands that can also record the events that they watch. The zero value disables
// recording.
type Recording struct {
	Dir string
	Retention
}

func (b *Recording) AddTo(f *pflag.FlagSet) {
	f.StringVar(&b.Dir, "record", "", "Also record into `DIR`, as dwatch record does; see docs/reference/recordings.md")
	notEmpty(f, "record")
	b.Retention.AddTo(f)
}

// Check returns an error if flags for a recording in f are given without --record.
func (b *Recording) Check(f *pflag.FlagSet) error {
	if name := given(f, "keep", "max-size"); b.Dir == "" && name != "" {
		return errors.New("--" + name + " is for a recording: it needs --record DIR")
	}
	return nil
}

// Replay selects the recording and the time range to replay instead of watching a cluster. The zero value means a
// cluster.
type Replay struct {
	From  From
	Range TimeRange
}

// Group returns the flags of p.
func (p *Replay) Group() Group {
	return NewGroup("The past", p.From.AddTo, SinceBefore("With --from, begin at `TIME`, such as 2h or 02:00", "With --from, end before `TIME`"))
}

// Parse validates the flags of p after all flags of f have been parsed.
func (p *Replay) Parse(f *pflag.FlagSet) error {
	err := cmp.Or(p.Range.Parse(f), p.From.Check(f))
	if name := given(f, "since", "before"); err == nil && !p.From.IsSet() && name != "" {
		err = errors.New("--" + name + " is for a recording: it needs --from DIR")
	}
	return err
}
