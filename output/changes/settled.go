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

// settlement shows the events of a SettledGroup: a root object and the objects that it owns, once they have been quiet.
type settlement struct {
	*View
	of      *event.SettledGroup
	rollout bool
	shown   int // number of shown events of owned objects
	hidden  int // number of hidden ones
	began   int // size of the output buffer at the start
}

// maxBelow is the maximum number of shown events of owned objects. NoTruncate shows all.
const maxBelow = 10

// show shows the whole group with its first event. If a filter dropped that, each event is shown by itself.
func (s *settlement) show(e *event.Event) error {
	of := e.Settled.Group
	if !e.Settled.IsFirst(e) {
		if s.told == weak.Make(of) {
			return nil
		}
		return s.showOne(e, nil)
	}
	s.told, s.of, s.began = weak.Make(of), of, s.w.Buffered()
	if err := s.showLead(e); err != nil {
		return err
	}
	for i := range of.Events[1:] {
		if err := s.showBelow(&of.Events[i+1], e); err != nil {
			return err
		}
	}
	if s.hidden > 0 {
		s.detail(fmt.Sprintf("%s %d more objects", ellipsis, s.hidden), "")
	}
	s.showOutcome(e)
	return nil
}

// showLead shows the intentional changes of the root object. If there are none and the group has only this event, it shows all
// changes.
func (s *settlement) showLead(e *event.Event) error {
	switch {
	case e.Type != event.Modified:
		s.rollout = e.Type == event.Added && owner.MayOwnPods(e.Object.GroupVersionKind().GroupKind()) && e.Object.GroupVersionKind().Group != "batch"
		return s.showOne(e, nil)
	case e.Old.IsZero(), e.Object.IsEvent(), len(s.of.Events) == 1 && !s.isWorkload(e):
		return s.showOne(e, nil)
	}
	changes, rollout := s.meant(e)
	if s.rollout = rollout; len(changes) > 0 {
		s.showMeant(e, changes)
		return nil
	}
	if len(s.of.Events) == 1 {
		return s.showOne(e, nil)
	}
	return nil
}

// isWorkload reports whether the object is a workload. Its status shows the progress, which showOutcome describes.
func (s *settlement) isWorkload(e *event.Event) bool {
	return owner.MayOwnPods(e.Object.GroupVersionKind().GroupKind())
}

func (s *settlement) meant(e *event.Event) (changes []change.Change, rollout bool) {
	result := change.Diff(e.Old.Raw(), e.Object.Raw(), s.Compare)
	changes, rollout = inventory.IntentionalChanges(e.Object, result.Changes)
	if isTerminating(e.Object.Raw()) {
		changes = withoutDeletion(changes)
	}
	return changes, rollout
}

func (s *settlement) showMeant(e *event.Event, changes []change.Change) {
	s.View.shown++
	changes = change.SplitStatus(changes)
	if !s.NoTruncate {
		changes = change.FoldConditions(changes)
	}
	began := *e
	began.Time = e.Settled.Since
	s.showChanges(&began, changedSign(&began), changes, withLater(e, ""), 0)
}

// showBelow shows the intentional changes, restarts and Warnings of an owned object. If the group has no root, it shows the whole
// event.
func (s *settlement) showBelow(e, lead *event.Event) error {
	called := e.Object.Namespace == lead.Object.Namespace && e.Object.Name == lead.Object.Name && e.Target.Resource() == lead.Target.Resource()
	switch {
	case called, !s.of.HasRoot && !e.Object.IsEvent():
		return s.take(func() error { return s.showOne(e, nil) })
	case e.Object.IsEvent():
		if e.Type == event.Deleted || !kubeevent.Parse(e.Object.Raw()).IsWarning() {
			return nil
		}
		return s.take(func() error { return s.showOne(e, nil) })
	case e.Type != event.Modified || e.Old.IsZero():
		return nil
	}
	if changes, _ := s.meant(e); len(changes) > 0 {
		return s.take(func() error { s.showMeant(e, changes); return nil })
	}
	if e.Object.Kind != "Pod" {
		return nil
	}
	changes := change.Diff(e.Old.Raw(), e.Object.Raw(), s.Compare).Changes
	if lines, _ := foldRestarts(e, change.SplitStatus(changes), s.Compare.Masks); len(lines) > 0 {
		return s.take(func() error { s.showRestarts(e, lines, nil, ""); return nil })
	}
	return nil
}

// take calls show unless maxBelow is reached.
func (s *settlement) take(show func() error) error {
	if s.shown >= maxBelow && !s.NoTruncate {
		s.hidden++
		return nil
	}
	s.shown++
	return show()
}

// showOutcome shows a line with the result, unless the lines before already say everything.
func (s *settlement) showOutcome(e *event.Event) {
	of := s.of
	state := s.state(e)
	counts := s.counts()
	if of.FlushReason == "" && counts == "" && of.UnhealthyCount == 0 && (state == "" || !s.isWorkload(e)) && (of.Changes == 1 || s.isSilent()) {
		return
	}
	line := fmt.Sprintf("%s in %s", text.Count(of.Changes, "change"), age(of.Until.Sub(of.Since)))
	if s.rollout {
		line = "rollout took " + age(of.Until.Sub(of.Since))
	}
	for _, part := range []string{state, cutWords[of.FlushReason]} {
		if part != "" {
			line += ", " + part
		}
	}
	if counts != "" {
		line += "; " + counts
	}
	s.wrapped(of.Until, '>', s.subject(e), line, "")
	s.showWrong()
}

// isSilent reports whether no line of the group has been written.
func (s *settlement) isSilent() bool { return s.w.Buffered() == s.began }

var cutWords = map[event.FlushReason]string{
	event.FlushMaxSettle:    "not quiet yet (--max-settle)",
	event.FlushShutdown:     "not quiet yet: its watch ends",
	event.FlushBufferFull:   "not quiet yet: too much waits",
	event.FlushUnwatched:    "not quiet yet: it is watched no more",
	event.FlushDisconnected: "not quiet yet: nothing is heard of it",
	event.FlushOrdering:     "not quiet yet: what comes next does not wait",
}

// state describes the final status of the root object. It is empty if that is not worth mentioning.
func (s *settlement) state(e *event.Event) string {
	switch of := s.of; {
	case of.Status == "":
		return ""
	case of.Status != kstatus.CurrentStatus.String():
		text := map[string]string{kstatus.FailedStatus.String(): "failed", kstatus.InProgressStatus.String(): "not ready", kstatus.TerminatingStatus.String(): "is being deleted"}[of.Status]
		if text == "" {
			text = clean(of.Status)
		}
		if of.Message != "" {
			text += ": " + clean(of.Message)
		}
		return text
	case s.isWorkload(e), e.Object.Kind == "Pod":
		return "ready"
	}
	return ""
}

// counts returns the numbers of owned objects that were added and deleted, by kind.
func (s *settlement) counts() string {
	if !s.of.HasRoot {
		return ""
	}
	came, went := map[string]int{}, map[string]int{}
	var kinds []string
	for i := range s.of.Events[1:] {
		e := &s.of.Events[i+1]
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
	for _, kind := range s.folds.asAsked(kinds) {
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

// showWrong lists the owned objects that are not ready.
func (s *settlement) showWrong() {
	for _, w := range s.of.Unhealthy {
		e := event.Event{Target: w.Target, Object: event.NewObject(&event.Identity{Namespace: w.Namespace, Name: w.Name}, "")}
		text := w.Status
		if w.Message != "" {
			text += ": " + w.Message
		}
		for i, line := range wrap(s.subject(&e).String()+"  "+clean(text), s.room("")) {
			if i > 0 {
				line = "  " + line
			}
			s.detail(line, "")
		}
	}
	if more := s.of.UnhealthyCount - len(s.of.Unhealthy); more > 0 && len(s.of.Unhealthy) > 0 {
		s.detail(fmt.Sprintf("%s %d more not ready", ellipsis, more), "")
	}
}
