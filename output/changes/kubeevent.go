package changes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
)

// kubeEvents shows Kubernetes Events.
type kubeEvents struct{ *View }

// show shows a Kubernetes Event. If only its count has changed, the message is not repeated. Its deletion counts as noise.
func (v kubeEvents) show(e *event.Event) {
	now := v.parse(e.Object)
	sign := addedSign(e)
	head, text := headOf(now), textOf(now)
	switch e.Type {
	case event.Modified:
		sign = '~'
		before := v.parse(e.Old)
		if textOf(before) == text {
			if headOf(before) == head {
				v.hidden.Add(1)
				return
			}
			text = ""
		}
	case event.Deleted:
		sign, text = '-', ""
		if len(v.Compare.Noise.Paths) > 0 {
			v.hidden.Add(1)
			return
		}
	}
	v.shown++
	v.write(e, sign, now, head, text)
}

// showInitial shows the initial Events in the order of their times.
func (v kubeEvents) showInitial() {
	for i := range v.initialKubeEvents {
		e := &v.initialKubeEvents[i]
		if at := v.parse(e.Object).LastSeen; !at.IsZero() {
			e.Time = at
		}
	}
	slices.SortStableFunc(v.initialKubeEvents, func(a, b event.Event) int { return a.Time.Compare(b.Time) })
	shown := v.shown
	for i := range v.initialKubeEvents {
		v.show(&v.initialKubeEvents[i])
	}
	v.initialKubeEvents, v.shown = nil, shown
}

// parse parses a masked Event. It returns the zero Event if o is zero.
func (v kubeEvents) parse(o event.Object) kubeevent.Event {
	if o.IsZero() {
		return kubeevent.Event{}
	}
	return kubeevent.Parse(v.Compare.Masks.MaskJSON(o.Raw()))
}

// write writes an Event on one line. If it does not fit, the message is below.
func (v kubeEvents) write(e *event.Event, sign rune, now kubeevent.Event, head, text string) {
	subject, who := v.subjectIn(e.Target.Cluster, e.Object.Namespace, "event "+clean(now.InvolvedObjectName())), clean(now.ReportingComponent)
	if whole := strings.TrimSuffix(head+": "+text, ": "); displaywidth.String(subject.String()+"  "+whole) <= v.out.room(who) {
		v.out.line(e.Time, sign, subject, whole, who)
		return
	}
	v.out.line(e.Time, sign, subject, head, who)
	for _, line := range wrap(text, v.out.room("")) {
		v.out.detail(line, "")
	}
}

func headOf(e kubeevent.Event) string {
	text := strings.TrimSpace(e.Type + " " + e.Reason)
	if e.Count > 1 {
		text = fmt.Sprintf("×%d %s", e.Count, text)
	}
	return clean(text)
}

func textOf(e kubeevent.Event) string { return clean(strings.Join(strings.Fields(e.Message), " ")) }
