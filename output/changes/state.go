package changes

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/status"
)

func (v *View) showAdded(e *event.Event, now *unstructured.Unstructured) {
	var text []string
	if state := describe(now, v.Compare.Masks); state != "" {
		text = append(text, state)
	}
	if at, again := v.gone.Get(keyOf(e)); again {
		v.gone.Remove(keyOf(e))
		text = append(text, "replaces the one deleted "+age(e.Time.Sub(at.(time.Time)))+" ago")
	}
	v.line(e.Time, addedSign(e), v.subject(e), strings.Join(text, ", "), "")
}

// addedSign tells what exists at the start, and what nobody saw, from what is added.
func addedSign(e *event.Event) rune {
	switch {
	case e.Reconstructed != nil:
		return '<'
	case e.Initial:
		return '='
	}
	return '+'
}

// count takes an object that exists at the start into the tally of its target, and what becomes of
// it until all are named.
func (v *View) count(e *event.Event) error {
	t := v.tallies[e.Target.Key()]
	switch {
	case v.Initial, v.Filtered, t == nil && !e.Initial:
		return nil
	case t == nil:
		t = &tally{wrong: map[objectKey]fault{}}
		v.tallies[e.Target.Key()] = t
	}
	switch e.Type {
	case event.Added:
		t.seen++
	case event.Deleted:
		t.seen--
		delete(t.wrong, keyOf(e))
		return nil
	}
	f, err := v.fault(e)
	if err != nil {
		return err
	}
	before, known := t.wrong[keyOf(e)]
	switch {
	case f.text == "":
		delete(t.wrong, keyOf(e))
		return nil
	case known:
		f.order = before.order
	default:
		t.found++
		f.order = t.found
	}
	t.wrong[keyOf(e)] = f
	return nil
}

// fault is what is wrong with an object; without text if nothing is.
func (v *View) fault(e *event.Event) (f fault, err error) {
	if e.Object.IsEvent() || !mayBeWrong(&e.Object) {
		return f, nil
	}
	u, err := v.open(e.Object)
	if err != nil {
		return f, err
	}
	s := status.Shown(u, v.Compare.Masks.Object)
	if !s.IsWrong() {
		return f, nil
	}
	return fault{failed: s.Word == kstatus.FailedStatus, text: strings.TrimSpace(v.subject(e) + " " + clean(s.Message))}, nil
}

func (v *View) showDeleted(e *event.Event, last *unstructured.Unstructured) {
	var text []string
	born := last.GetCreationTimestamp()
	if word := status.Of(last).Word; word != kstatus.UnknownStatus || born.IsZero() {
		text = append(text, "was "+word.String())
	}
	if !born.IsZero() {
		text = append(text, age(e.Time.Sub(born.Time))+" old")
	}
	if e.FinalStateUnknown {
		text = append(text, "found out later")
	}
	v.gone.Add(keyOf(e), e.Time)
	v.line(e.Time, '-', v.subject(e), strings.Join(text, ", "), "")
}

type objectKey struct {
	target          event.Key
	namespace, name string
}

func keyOf(e *event.Event) objectKey {
	return objectKey{e.Target.Key(), e.Object.Namespace, e.Object.Name}
}

// describe says in a few words what an object is, without a reason that is made of what is masked.
func describe(u *unstructured.Unstructured, masks *change.Masks) string {
	s := status.Shown(u, masks.Object)
	switch {
	case s.Message != "":
		return s.Word.String() + ": " + clean(s.Message)
	case s.Word == kstatus.UnknownStatus:
		return ""
	}
	return s.Word.String()
}

// age is a duration as kubectl would say it aloud.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(d, 0)/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
}
