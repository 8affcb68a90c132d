package churn

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Finding is a fight, or with an empty Path a hot loop.
type Finding struct {
	Path string `json:"path,omitempty"`
	// Sides are who undoes what of whom; of a hot loop who writes, if that is known.
	Sides []Side `json:"sides,omitempty"`
	// Times is how often it was written, since Since.
	Times int       `json:"times"`
	Since time.Time `json:"since"`
	until time.Time
}

// Side is one of a fight, and what it did last.
type Side struct {
	Manager string `json:"manager"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
}

// IsFight tells a fight from a hot loop.
func (f *Finding) IsFight() bool { return f.Path != "" }

// String is such as: fight over spec.replicas: argocd 5 → 3, hpa 3 → 5, 14 times in 10 min.
func (f *Finding) String() string {
	var sides []string
	for _, s := range f.Sides {
		if f.IsFight() {
			sides = append(sides, fmt.Sprintf("%s %s → %s", s.Manager, s.Old, s.New))
		} else {
			sides = append(sides, " by "+s.Manager)
		}
	}
	much := fmt.Sprintf("%d times in %s", f.Times, length(f.until.Sub(f.Since)))
	if f.IsFight() {
		return fmt.Sprintf("fight over %s: %s, %s", f.Path, strings.Join(sides, ", "), much)
	}
	return fmt.Sprintf("hot loop: written%s with no change, %s", strings.Join(sides, ""), much)
}

func length(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second)/time.Second)))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
}

// Findings returns what goes on: fights, the oldest fields first, and then a hot loop.
func (o *Object) Findings(now time.Time) (found []*Finding) {
	for _, f := range o.fields {
		if last, known := o.found[f.Path]; known && now.Sub(last) <= quiet && f.undoneOften() {
			found = append(found, o.fight(f, now))
		}
	}
	if last, known := o.found[""]; known && now.Sub(last) <= quiet {
		found = append(found, o.loop(now))
	}
	return found
}

// changed counts a change of the field, and reports whether there is a fight with it.
func (f *Field) changed(c *change.Change, at time.Time) bool {
	s := stroke{nameOf(c.Who), valueOf(c.Old, c.Kind == change.Added), valueOf(c.New, c.Kind == change.Removed)}
	f.Times++
	f.count(s.by)
	before := f.last
	f.last = s
	if s.by == "" || before.by == "" || s.by == before.by || s.new != before.old || s.old != before.new {
		return false
	}
	if f.sides[0].by != "" && f.sides[0].by != s.by && f.sides[1].by != s.by {
		f.undone = nil // another one came
	}
	f.sides = [2]stroke{before, s}
	if s.by < before.by {
		f.sides = [2]stroke{s, before}
	}
	f.undone = append(within(f.undone, at, window), at)
	return f.undoneOften()
}

func (f *Field) undoneOften() bool { return len(f.undone) >= fightUndone }

func (f *Field) count(by string) {
	i := slices.IndexFunc(f.Managers, func(m Manager) bool { return m.Name == by })
	switch {
	case by == "":
	case i >= 0:
		f.Managers[i].Times++
	case len(f.Managers) < maxManagers:
		f.Managers = append(f.Managers, Manager{by, 1})
	}
}

func (o *Object) fight(f *Field, now time.Time) *Finding {
	found := &Finding{Path: f.Path, Times: len(f.undone) + 1, Since: f.undone[0], until: now}
	for _, s := range f.sides {
		found.Sides = append(found.Sides, Side{s.by, s.old.shown, s.new.shown})
	}
	return found
}

// wroteNothing counts a write that changed nothing, and returns a hot loop that begins with it.
func (o *Object) wroteNothing(e *event.Event) *Finding {
	if who := change.Writer(e.Old.Raw(), e.Object.Raw()); who.Known() {
		o.writer = who
	}
	o.idle = append(within(o.idle, e.Time, window), e.Time)
	if n := len(o.idle); n < loopWrites || e.Time.Sub(o.idle[n-loopWrites]) > loopInterval {
		return nil
	}
	if !o.isNew("", e.Time) {
		return nil
	}
	return o.loop(e.Time)
}

func (o *Object) loop(now time.Time) *Finding {
	f := &Finding{Times: len(o.idle), Since: o.idle[0], until: now}
	if name := nameOf(o.writer); name != "" {
		f.Sides = []Side{{Manager: name}}
	}
	return f
}

// Idle is how often the object was written in the last ten minutes while nothing of it changed.
func (o *Object) Idle() int { return len(o.idle) }

var bookkeeping = func() change.Noise {
	var n change.Noise
	for _, path := range []string{"metadata.resourceVersion", "metadata.managedFields", "metadata.generation"} {
		p, err := change.ParsePattern(path)
		if err != nil {
			panic(err) // it is right here
		}
		n.Paths = append(n.Paths, p)
	}
	return n
}

// isIdle reports whether nothing changed but what the server keeps of each write.
func isIdle(e *event.Event) bool {
	return !e.Old.IsZero() && !e.Listed && len(change.Between(e.Old.Raw(), e.Object.Raw(), change.Options{Noise: bookkeeping()}).Changes) == 0
}

// nameOf is a manager, with the subresource through which it wrote: one program may be several
// controllers. It is empty if it is not known.
func nameOf(w change.Who) string {
	if w.Subresource == "" {
		return w.Manager
	}
	return w.Manager + " (" + w.Subresource + ")"
}

const maxValue = 40 // characters

var seed = maphash.MakeSeed()

func valueOf(v any, none bool) value {
	if none {
		return value{"nothing", 0}
	}
	text, isText := v.(string)
	if !isText {
		encoded, err := json.Marshal(v)
		if err != nil {
			return value{"?", 0}
		}
		text = string(encoded)
	}
	sum := maphash.String(seed, text)
	if utf8.RuneCountInString(text) > maxValue {
		text = string([]rune(text)[:maxValue-1]) + "…"
	}
	return value{text, sum}
}
