package churn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Finding is a fight over the field at Path, or a hot loop if Path is empty.
type Finding struct {
	Path string `json:"path,omitempty"`
	// Sides are the two managers of a fight, sorted by name. For a hot loop, Sides contains its last known writer, or
	// nothing if none is known.
	Sides []Side `json:"sides,omitempty"`
	// OtherFields is the number of other fights that MergeFights merged into this one.
	OtherFields int `json:"-"`
	// Count is the number of changes since Since that undid another one, and the change that was undone first. For a hot
	// loop, it is the number of writes that changed nothing. The limit is about maxTimes.
	Count int             `json:"times"`
	Since event.Timestamp `json:"since"`
	until time.Time
}

// Side is a manager of a finding. In a fight, it has the last change of the manager.
type Side struct {
	Manager string `json:"manager"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
}

// IsFight returns true for a fight and false for a hot loop.
func (f *Finding) IsFight() bool { return f.Path != "" }

// HasSameManagers reports whether both are fights between the same managers.
func (f *Finding) HasSameManagers(o *Finding) bool {
	return f.IsFight() && o.IsFight() && slices.EqualFunc(f.Sides, o.Sides, func(a, b Side) bool { return a.Manager == b.Manager })
}

// MergeFights merges fights over fields of one object that are between the same managers. The first one represents the
// others. It does not modify its argument.
func MergeFights(found []*Finding) (merged []*Finding) {
	for _, f := range found {
		if i := slices.IndexFunc(merged, f.HasSameManagers); i >= 0 {
			merged[i].OtherFields++
		} else {
			one := *f
			merged = append(merged, &one)
		}
	}
	return merged
}

// String returns, for example, "fight over spec.replicas: argocd 5 → 3, hpa 3 → 5, 14 times in 10 min".
func (f *Finding) String() string {
	var sides []string
	for _, s := range f.Sides {
		if f.IsFight() {
			sides = append(sides, fmt.Sprintf("%s %s → %s", s.Manager, s.Old, s.New))
		} else {
			sides = append(sides, " by "+s.Manager)
		}
	}
	frequency := fmt.Sprintf("%d times in %s", f.Count, length(f.until.Sub(f.Since.Time)))
	if f.IsFight() {
		over := f.Path
		if f.OtherFields > 0 {
			over += fmt.Sprintf(" and %d more", f.OtherFields)
		}
		return fmt.Sprintf("fight over %s: %s, %s", over, strings.Join(sides, ", "), frequency)
	}
	return fmt.Sprintf("hot loop: written%s with no change, %s", strings.Join(sides, ""), frequency)
}

func length(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second)/time.Second)))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
}

// HasFindings reports whether the object has an ongoing fight or hot loop at now.
func (o *Object) HasFindings(now time.Time) bool {
	return o.loops(now) || slices.ContainsFunc(o.fields, func(f *Field) bool { return f.HasFight(now) })
}

// Findings returns the ongoing fights, in order of the first change of their fields, and then the hot loop.
func (o *Object) Findings(now time.Time) (found []*Finding) {
	for _, f := range o.fields {
		if f.HasFight(now) {
			found = append(found, f.finding(now))
		}
	}
	if o.loops(now) {
		found = append(found, o.hotLoop(now))
	}
	return found
}

// HasFight reports whether there is an ongoing fight over the field.
func (f *Field) HasFight(now time.Time) bool {
	return !f.fight.IsZero() && now.Sub(f.fight) <= quiet && f.isFought()
}

func (o *Object) loops(now time.Time) bool { return !o.loop.IsZero() && now.Sub(o.loop) <= quiet }

// finding returns the fight over a field.
func (f *Field) finding(now time.Time) *Finding {
	found := &Finding{Path: f.Path, Count: len(f.undone) + 1, Since: event.Timestamp{Time: f.since}, until: now}
	for _, s := range f.sides {
		found.Sides = append(found.Sides, Side{s.by, s.old.shown, s.new.shown})
	}
	return found
}

func (o *Object) hotLoop(now time.Time) *Finding {
	f := &Finding{Count: len(o.idle), Since: event.Timestamp{Time: o.idle[0]}, until: now}
	if name := o.writer; name != "" {
		f.Sides = []Side{{Manager: name}}
	}
	return f
}

// bookkeeping returns the fields that the server may update at a write that changes nothing else.
var bookkeeping = func() change.Noise {
	var n change.Noise
	for _, path := range []string{"metadata.resourceVersion", "metadata.managedFields", "metadata.generation"} {
		p, err := change.ParsePattern(path)
		if err != nil {
			panic(err) // the paths above are valid
		}
		n.Paths = append(n.Paths, p)
	}
	return n
}

// isIdle reports whether an event changed only fields of bookkeeping. It is false if the event comes from a list, because
// it may then combine several writes, or if the old state is unknown.
func isIdle(e *event.Event) bool {
	return !e.Old.IsZero() && !e.Listed && len(change.Diff(e.Old.Raw(), e.Object.Raw(), change.Options{Noise: bookkeeping()}).Changes) == 0
}
