package changes

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output/inventory"
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
	v.out.line(e.Time, addedSign(e), v.subject(e), strings.Join(text, ", "), "")
}

// addedSign returns the sign of an Added event.
func addedSign(e *event.Event) rune {
	switch {
	case e.Reconstructed != nil:
		return '<'
	case e.Initial:
		return '='
	}
	return '+'
}

func (v *View) showDeleted(e *event.Event, last *unstructured.Unstructured) {
	var text []string
	born := last.GetCreationTimestamp()
	if v.Compare.DistinctObjects { // the two objects are not states of the same one
		v.out.line(e.Time, '-', v.subject(e), "not there", "")
		return
	}
	if word := status.Of(last).Word; word != kstatus.UnknownStatus || born.IsZero() && !e.FinalStateUnknown {
		text = append(text, "was "+word.String())
	}
	if !born.IsZero() {
		text = append(text, age(e.Time.Sub(born.Time))+" old")
	}
	if e.FinalStateUnknown {
		text = append(text, inventory.DetectedLate)
	}
	v.gone.Add(keyOf(e), e.Time)
	v.out.line(e.Time, '-', v.subject(e), strings.Join(text, ", "), "")
}

type objectKey struct {
	target          event.Key
	namespace, name string
}

func keyOf(e *event.Event) objectKey {
	return objectKey{e.Target.Key(), e.Object.Namespace, e.Object.Name}
}

// describe returns the status of an object with its message, unless that contains a masked value.
func describe(u *unstructured.Unstructured, masks *change.Masks) string {
	s := status.OfMasked(u, masks.MaskObject)
	switch {
	case s.Message != "":
		return s.Word.String() + ": " + clean(s.Message)
	case s.Word == kstatus.UnknownStatus:
		return ""
	}
	return s.Word.String()
}

// age formats a duration for people.
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
