package changes

import (
	"fmt"
	"slices"
	"strings"
	"weak"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output/inventory"
	"dwatch/output/text"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// settlement shows the events of a SettledGroup: a root object and the objects that it owns, once they have been quiet. It
// embeds the View because it shows single events of the group as the View does.
type settlement struct {
	*View
	group     *event.SettledGroup
	rollout   bool
	shown     int // number of shown events of owned objects
	hidden    int // number of hidden ones
	startSize int // size of the output buffer at the start
}

// maxOwned is the maximum number of shown events of owned objects. NoTruncate shows all.
const maxOwned = 10

// show shows the whole group when its first event arrives. If a filter dropped the first event, it shows each event separately.
func (s *settlement) show(e *event.Event) error {
	of := e.Settled.Group
	if !e.Settled.IsFirst(e) {
		if s.lastSettled == weak.Make(of) {
			return nil
		}
		return s.showOne(e, nil)
	}
	s.lastSettled, s.group, s.startSize = weak.Make(of), of, s.out.w.Buffered()
	if err := s.showLead(e); err != nil {
		return err
	}
	for i := range of.Events[1:] {
		if err := s.showOwned(&of.Events[i+1], e); err != nil {
			return err
		}
	}
	if s.hidden > 0 {
		s.out.detail(fmt.Sprintf("%s %d more objects", ellipsis, s.hidden), "")
	}
	s.showOutcome(e)
	return nil
}

// showLead shows the intentional changes of the root object. If there are none and the group has only this event, it shows all of its
// changes.
func (s *settlement) showLead(e *event.Event) error {
	switch {
	case e.Type != event.Modified:
		s.rollout = e.Type == event.Added && owner.MayOwnPods(e.Object.GroupVersionKind().GroupKind()) && e.Object.GroupVersionKind().Group != "batch"
		return s.showOne(e, nil)
	case e.Old.IsZero(), e.Object.IsEvent(), len(s.group.Events) == 1 && !s.isWorkload(e):
		return s.showOne(e, nil)
	}
	changes, rollout := s.intentionalChanges(e)
	if s.rollout = rollout; len(changes) > 0 {
		s.showIntentional(e, changes)
		return nil
	}
	if len(s.group.Events) == 1 {
		return s.showOne(e, nil)
	}
	return nil
}

// isWorkload reports whether the object is a workload. Its status shows the progress, which showOutcome describes.
func (s *settlement) isWorkload(e *event.Event) bool {
	return owner.MayOwnPods(e.Object.GroupVersionKind().GroupKind())
}

func (s *settlement) intentionalChanges(e *event.Event) (changes []change.Change, rollout bool) {
	result := change.Diff(e.Old.Raw(), e.Object.Raw(), s.Compare)
	changes, rollout = inventory.IntentionalChanges(e.Object, result.Changes)
	if isTerminating(e.Object.Raw()) {
		changes = withoutDeletion(changes)
	}
	return changes, rollout
}

func (s *settlement) showIntentional(e *event.Event, changes []change.Change) {
	s.View.shown++
	changes = change.SplitStatus(changes)
	if !s.NoTruncate {
		changes = change.FoldConditions(changes)
	}
	began := *e
	began.Time = e.Settled.Since
	s.showChanges(&began, changedSign(&began), changes, withLater(e, ""), 0)
}

// showOwned shows the intentional changes, restarts and Warnings of an owned object. If the group has no root, it shows the whole
// event.
func (s *settlement) showOwned(e, root *event.Event) error {
	sameName := e.Object.Namespace == root.Object.Namespace && e.Object.Name == root.Object.Name && e.Target.Resource() == root.Target.Resource()
	switch {
	case sameName, !s.group.HasRoot && !e.Object.IsEvent():
		return s.limit(func() error { return s.showOne(e, nil) })
	case e.Object.IsEvent():
		if e.Type == event.Deleted || !kubeevent.Parse(e.Object.Raw()).IsWarning() {
			return nil
		}
		return s.limit(func() error { return s.showOne(e, nil) })
	case e.Type != event.Modified || e.Old.IsZero():
		return nil
	}
	if changes, _ := s.intentionalChanges(e); len(changes) > 0 {
		return s.limit(func() error { s.showIntentional(e, changes); return nil })
	}
	if e.Object.Kind != "Pod" {
		return nil
	}
	changes := change.Diff(e.Old.Raw(), e.Object.Raw(), s.Compare).Changes
	if lines, _ := foldRestarts(e, change.SplitStatus(changes), s.Compare.Masks); len(lines) > 0 {
		return s.limit(func() error { s.showRestarts(e, lines, nil, ""); return nil })
	}
	return nil
}

// limit calls show unless maxOwned events were shown.
func (s *settlement) limit(show func() error) error {
	if s.shown >= maxOwned && !s.NoTruncate {
		s.hidden++
		return nil
	}
	s.shown++
	return show()
}

// showOutcome shows a line with the result, unless the lines above already contain it.
func (s *settlement) showOutcome(e *event.Event) {
	of := s.group
	state := s.state(e)
	counts := s.counts()
	if of.FlushReason == "" && counts == "" && of.UnhealthyCount == 0 && (state == "" || !s.isWorkload(e)) && (of.Changes == 1 || s.isSilent()) {
		return
	}
	line := fmt.Sprintf("%s in %s", text.Count(of.Changes, "change"), age(of.Until.Sub(of.Since)))
	if s.rollout {
		line = "rollout took " + age(of.Until.Sub(of.Since))
	}
	for _, part := range []string{state, flushTexts[of.FlushReason]} {
		if part != "" {
			line += ", " + part
		}
	}
	if counts != "" {
		line += "; " + counts
	}
	s.out.wrapped(of.Until, '>', s.subject(e), line, "")
	s.showUnhealthy()
}

// isSilent reports whether no line of the group has been written.
func (s *settlement) isSilent() bool { return s.out.w.Buffered() == s.startSize }

var flushTexts = map[event.FlushReason]string{
	event.FlushMaxSettle:    "not quiet yet (--max-settle)",
	event.FlushShutdown:     "not quiet yet: the watch ended",
	event.FlushBufferFull:   "not quiet yet: buffer full",
	event.FlushUnwatched:    "not quiet yet: no longer watched",
	event.FlushDisconnected: "not quiet yet: disconnected",
	event.FlushOrdering:     "not quiet yet: reported before a later event",
}

// state describes the final status of the root object. It is empty if the status is unknown or unremarkable.
func (s *settlement) state(e *event.Event) string {
	switch of := s.group; {
	case of.Status == "":
		return ""
	case of.Status != kstatus.CurrentStatus.String() && of.Status != kstatus.UnknownStatus.String():
		text := map[string]string{kstatus.FailedStatus.String(): "failed", kstatus.InProgressStatus.String(): "not ready", kstatus.TerminatingStatus.String(): "is being deleted"}[of.Status]
		if text == "" {
			text = clean(of.Status)
		}
		if of.Message != "" {
			text += ": " + clean(of.Message)
		}
		return text
	case s.failedObject() != "":
		return "failed: " + s.failedObject()
	case of.Status == kstatus.CurrentStatus.String() && (s.isWorkload(e) || e.Object.Kind == "Pod"):
		return "ready"
	}
	return ""
}

// failedObject describes a pod of the root object that has failed and exists. The root object may not show that between two
// crashes. It is empty if there is none.
func (s *settlement) failedObject() string {
	for _, o := range s.group.Unhealthy {
		if kind := o.Target.Mapping.GroupVersionKind; s.group.HasRoot && kind.Group == "" && kind.Kind == "Pod" && !o.IsFinished && o.Status == kstatus.FailedStatus.String() {
			return clean(strings.TrimSuffix(s.ShortName(o.Target.Resource())+"/"+o.Name+" "+o.Message, " "))
		}
	}
	return ""
}

// counts returns the numbers of owned objects that were added and deleted, by kind.
func (s *settlement) counts() string {
	if !s.group.HasRoot {
		return ""
	}
	came, went := map[string]int{}, map[string]int{}
	var kinds []string
	for i := range s.group.Events[1:] {
		e := &s.group.Events[i+1]
		if e.Object.IsEvent() || e.Type == event.Modified {
			continue
		}
		kind := s.ShortName(e.Target.Resource())
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		if e.Type == event.Added || e.Settled.ShortLived {
			came[kind]++
		}
		if e.Type == event.Deleted {
			went[kind]++
		}
	}
	var parts []string
	for _, kind := range s.folds.sortKinds(kinds) {
		part := ""
		if n := came[kind]; n > 0 {
			part += fmt.Sprintf("+%d ", n)
		}
		if n := went[kind]; n > 0 {
			part += fmt.Sprintf("-%d ", n)
		}
		parts = append(parts, part+clean(kind))
	}
	return strings.Join(parts, "; ")
}

// showUnhealthy lists the owned objects that are not ready.
func (s *settlement) showUnhealthy() {
	for _, w := range s.group.Unhealthy {
		e := event.Event{Target: w.Target, Object: event.NewObject(&event.Identity{Namespace: w.Namespace, Name: w.Name}, "")}
		text := w.Status
		if w.Message != "" {
			text += ": " + w.Message
		}
		for i, line := range wrap(s.subject(&e).String()+"  "+clean(text), s.out.room("")) {
			if i > 0 {
				line = "  " + line
			}
			s.out.detail(line, "")
		}
	}
	if more := s.group.UnhealthyCount - len(s.group.Unhealthy); more > 0 && len(s.group.Unhealthy) > 0 {
		s.out.detail(fmt.Sprintf("%s %d more not ready", ellipsis, more), "")
	}
}
