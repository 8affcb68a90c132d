package changes

import (
	"fmt"
	"strings"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// maxOwnedFields is the number of shown fields that a manager owns. If there is one more, it is shown, too. NoTruncate shows all.
const maxOwnedFields = 3

// reconstruction shows reconstructed events.
type reconstruction struct{ *View }

func (v reconstruction) show(e *event.Event) {
	switch e.Reconstructed.From {
	case event.FromEvent:
		kubeEvents(v).show(e)
	case event.FromCreation:
		v.shown++
		v.out.line(e.Time, '<', v.subject(e), "created", writers(e))
	case event.FromDeletion:
		v.shown++
		v.out.line(e.Time, '<', v.subject(e), "deletion requested", "")
	case event.FromManagedFields:
		v.showWrite(e)
	default:
		v.showRollout(e)
	}
}

// writers returns the managers that wrote in the second of the event.
func writers(e *event.Event) string {
	var names []string
	for _, w := range e.Reconstructed.Writers {
		names = append(names, clean(w.Manager))
	}
	return strings.Join(names, ", ")
}

// showWrite shows a write of a manager, and the fields that it has owned since. Which of them it changed is unknown.
func (v reconstruction) showWrite(e *event.Event) {
	owned := change.Diff(e.Reconstructed.Base.Raw(), e.Object.Raw(), v.Compare)
	if len(owned.Changes) == 0 && (owned.NoiseCount > 0 || len(v.Compare.Only) > 0) {
		v.hidden.Add(1)
		return
	}
	v.shown++
	var fields []string
	for i, c := range owned.Changes {
		if i == maxOwnedFields && len(owned.Changes) > maxOwnedFields+1 && !v.NoTruncate {
			fields = append(fields, fmt.Sprintf("%d more", len(owned.Changes)-i))
			break
		}
		fields = append(fields, v.describeField(c))
	}
	subject, who := v.subject(e), writers(e)
	text := "wrote; owns " + strings.Join(fields, ", ")
	if len(fields) == 0 {
		text = "wrote"
	}
	v.out.line(e.Time, '<', subject, cutEnd(text, max(v.out.room(who)-len(subject.String())-2, MinWidth/2)), who)
}

// describeField returns the path of a field that a manager owns, and its value if that is short.
func (v reconstruction) describeField(c change.Change) string {
	const short = 40
	path, value := clean(c.Path.String()), valueText(c.New, false)
	if !v.NoTruncate {
		path = cutFront(path, short)
	}
	if len(value) > short && !v.NoTruncate {
		return path
	}
	return path + " = " + value
}

// showRollout shows the change of a template.
func (v reconstruction) showRollout(e *event.Event) {
	result := change.Diff(e.Old.Raw(), e.Object.Raw(), v.Compare)
	if len(result.Changes) == 0 {
		v.hidden.Add(1)
		return
	}
	v.shown++
	v.showChanges(e, changedSign(e), change.SplitStatus(result.Changes), "", 0)
}
