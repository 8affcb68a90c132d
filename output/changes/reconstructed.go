package changes

import (
	"fmt"
	"strings"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// maxHeld is how many values that a manager holds are shown, unless all are.
const maxHeld = 3

// reconstruction is the View of what nobody saw: with a sign of its own, whatever it is.
type reconstruction struct{ *View }

func (v reconstruction) show(e *event.Event) {
	switch e.Reconstructed.From {
	case event.FromEvent:
		kubeEvents(v).show(e)
	case event.FromCreation:
		v.shown++
		v.line(e.Time, '<', v.subject(e), "created", writers(e))
	case event.FromDeletion:
		v.shown++
		v.line(e.Time, '<', v.subject(e), "deletion asked for", "")
	case event.FromManagedFields:
		v.showWrite(e)
	default:
		v.showRollout(e)
	}
}

// writers are those who wrote in that second.
func writers(e *event.Event) string {
	var names []string
	for _, w := range e.Reconstructed.Writers {
		names = append(names, clean(w.Manager))
	}
	return strings.Join(names, ", ")
}

// showWrite shows that a manager wrote, and what it holds since: which of that it set then is not
// known.
func (v reconstruction) showWrite(e *event.Event) {
	held := change.Diff(e.Reconstructed.Base.Raw(), e.Object.Raw(), v.Compare)
	if len(held.Changes) == 0 && (held.NoiseCount > 0 || len(v.Compare.Only) > 0) {
		v.hidden.Add(1)
		return
	}
	v.shown++
	var fields []string
	for i, c := range held.Changes {
		if i == maxHeld && len(held.Changes) > maxHeld+1 && !v.NoTruncate {
			fields = append(fields, fmt.Sprintf("%d more", len(held.Changes)-i))
			break
		}
		fields = append(fields, v.held(c))
	}
	subject, who := v.subject(e), writers(e)
	text := "wrote; holds " + strings.Join(fields, ", ")
	if len(fields) == 0 {
		text = "wrote"
	}
	v.line(e.Time, '<', subject, cutEnd(text, max(v.room(who)-len(subject.String())-2, MinWidth/2)), who)
}

// held is a field that a manager holds, with its value if that is short.
func (v reconstruction) held(c change.Change) string {
	const short = 40
	path, value := clean(c.Path.String()), text(c.New, false)
	if !v.NoTruncate {
		path = cutFront(path, short)
	}
	if len(value) > short && !v.NoTruncate {
		return path
	}
	return path + " = " + value
}

// showRollout shows the template that came.
func (v reconstruction) showRollout(e *event.Event) {
	result := change.Diff(e.Old.Raw(), e.Object.Raw(), v.Compare)
	if len(result.Changes) == 0 {
		v.hidden.Add(1)
		return
	}
	v.shown++
	v.showChanges(e, changedSign(e), change.SplitStatus(result.Changes), "", 0)
}
