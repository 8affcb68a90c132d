package changes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/tidwall/gjson"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/churn"
	"dwatch/watcher/object/status"
)

// maxRows is the number of shown changes of an event. If there is one more, it is shown, too. NoTruncate shows all.
const maxRows = 40

// showModified shows the changes of an event, unless all are noise.
func (v *View) showModified(e *event.Event, c *inventory.Change) error {
	if e.Old.IsZero() {
		v.shown++
		v.out.line(e.Time, '~', v.subject(e), "changed; the previous state is unknown", "")
		return nil
	}
	before, now := e.Old.Raw(), e.Object.Raw()
	result := diffOf(e, c, v.Compare)
	if found := v.churn.Observe(e, &result); len(found) > 0 {
		defer v.showFound(e, found) // below the change
	}
	changes, text := result.Changes, ""
	if isTerminating(now) {
		changes = withoutDeletion(changes)
		if !isTerminating(before) {
			u, err := v.open(e.Object)
			if err != nil {
				return err
			}
			u.Object = v.Compare.Masks.MaskObject(u.Object)
			text = clean(status.Deletion(u))
		}
	}
	if len(changes) == 0 && text == "" {
		v.hidden.Add(1)
		return nil
	}
	v.shown++
	changes = change.SplitStatus(changes)
	if !v.NoTruncate {
		changes = change.FoldConditions(changes)
	}
	if text != "" {
		v.showChanges(e, changedSign(e), changes, withLater(e, text), result.NoiseCount)
		return nil
	}
	if lines, rest := foldRestarts(e, changes, v.Compare.Masks); !v.NoTruncate && len(lines) > 0 {
		lines[0] = withLater(e, lines[0])
		v.showRestarts(e, lines, rest, writer(e, changes))
		return nil
	}
	sign, text, err := v.findPodProblem(e, changes)
	v.showChanges(e, sign, changes, withLater(e, text), result.NoiseCount)
	return err
}

// withLater adds to a text that only a relist revealed the change.
func withLater(e *event.Event, text string) string {
	switch {
	case !e.Listed:
		return text
	case text == "":
		return inventory.DetectedLate
	}
	return text + ", " + inventory.DetectedLate
}

// showFound shows fights and hot loops.
func (v *View) showFound(e *event.Event, found []*churn.Finding) {
	for _, f := range found {
		v.out.wrapped(e.Time, '!', v.subject(e), clean(f.String()), "")
	}
}

// diffOf returns the changes of an event. It uses the changes in c if there are any.
func diffOf(e *event.Event, c *inventory.Change, o change.Options) change.Result {
	if c != nil && c.Diff != nil {
		return change.Result{Changes: slices.Clone(c.Diff.Changes), NoiseCount: c.Diff.NoiseCount}
	}
	return change.Diff(e.Old.Raw(), e.Object.Raw(), o)
}

// findPodProblem describes the problem of a Pod that begins with this event, and returns its sign. text is empty if there is none. For
// other kinds, the changes themselves show the problem.
func (v *View) findPodProblem(e *event.Event, changes []change.Change) (sign rune, text string, err error) {
	sign = changedSign(e)
	inStatus := func(c change.Change) bool { return len(c.Path) == 0 || c.Path[0].Field == "status" }
	if !slices.ContainsFunc(changes, inStatus) {
		return sign, "", nil
	}
	if e.Object.Kind != "Pod" || e.Object.APIVersion != "v1" || !status.MayNotBeCurrent(e.Object.GroupVersionKind(), e.Object.Raw()) {
		return sign, "", nil
	}
	now, err := v.open(e.Object)
	if err != nil {
		return sign, "", err
	}
	is := status.Of(now)
	if !is.IsNotReady() || is.Word != kstatus.FailedStatus && !is.SelfReported {
		return sign, "", nil
	}
	before, err := v.open(e.Old)
	if err != nil || status.Of(before) == is {
		return sign, "", err
	}
	return problemSign(is.Word, sign), describe(now, v.Compare.Masks), nil
}

// problemSign returns the sign of a problem if the status is one, or else the given sign.
func problemSign(word kstatus.Status, sign rune) rune {
	switch word {
	case kstatus.FailedStatus:
		return inventory.SeverityFailed.Sign()
	case kstatus.InProgressStatus:
		return inventory.SeverityWaiting.Sign()
	}
	return sign
}

func isTerminating(object string) bool {
	const field = "deletionTimestamp" // searching the text first is faster
	return strings.Contains(object, field) && gjson.Get(object, "metadata."+field).Exists()
}

// withoutDeletion removes the changes of the deletion fields.
func withoutDeletion(changes []change.Change) []change.Change {
	return slices.DeleteFunc(changes, func(c change.Change) bool {
		path := c.Path.String()
		return path == "metadata.deletionTimestamp" || path == "metadata.deletionGracePeriodSeconds"
	})
}

// changedSign returns the sign of a Modified event.
func changedSign(e *event.Event) rune {
	if e.Reconstructed != nil {
		return '<'
	}
	return '~'
}

// showChanges writes one line if it has room for all changes, otherwise a block.
func (v *View) showChanges(e *event.Event, sign rune, changes []change.Change, text string, noise int) {
	subject, who := v.subject(e), writer(e, changes)
	if len(changes) == 1 && text == "" {
		if one, fits := v.out.row(changes[0]).inLine(v.out.room(who) - displaywidth.String(subject.String()) - 2); fits {
			v.out.line(e.Time, sign, subject, one, who)
			return
		}
	}
	if noise > 0 && text == "" && len(changes) > 1 {
		text = fmt.Sprintf("+%d noise", noise)
	}
	v.out.wrapped(e.Time, sign, subject, text, who)
	v.showRows(changes, who)
}

// showRows writes the changes of a block. Changes by other managers than who have their own manager.
func (v *View) showRows(changes []change.Change, who string) {
	for i, c := range changes {
		if i == maxRows && len(changes) > maxRows+1 && !v.NoTruncate {
			v.out.detail(fmt.Sprintf("%s %d more changes; --full shows them", ellipsis, len(changes)-i), "")
			break
		}
		by := nameOf(c.Writer)
		if by == who || who != "" && !c.Writer.IsKnown() {
			by = ""
		}
		v.showRow(v.out.row(c), by)
	}
}

// showRestarts writes a line for each restart, followed by the other changes.
func (v *View) showRestarts(e *event.Event, lines []string, rest []change.Change, who string) {
	sign := '~'
	if now, err := v.open(e.Object); err == nil && status.Of(now).Word == kstatus.FailedStatus {
		sign = inventory.SeverityFailed.Sign()
	}
	v.out.wrapped(e.Time, sign, v.subject(e), lines[0], who)
	for _, line := range lines[1:] {
		v.out.detail(line, "")
	}
	v.showRows(rest, who)
}

// showRow writes a change on one line, or on more lines if it does not fit.
func (v *View) showRow(r row, by string) {
	if one, fits := r.inLine(v.out.room(by)); fits {
		v.out.detail(one, by)
		return
	}
	v.out.detail(cutFront(r.path, v.out.room(by)), by)
	for _, line := range r.lines() {
		if r.diff != "" || r.kind == change.Moved {
			v.out.detail("  "+line, "")
			continue
		}
		sign, value := line[:len("+ ")], line[len("+ "):]
		for _, part := range wrap(value, v.out.room("")-len("  + ")) {
			v.out.detail("  "+sign+part, "")
			sign = "  "
		}
	}
}

// writer returns the manager of the changes, or "" if there are several. An event is one write, so the known manager also made the
// changes without one. That does not hold for an event from a list, which may combine several writes.
func writer(e *event.Event, changes []change.Change) string {
	who, open := "", false
	for _, c := range changes {
		switch name := nameOf(c.Writer); {
		case !c.Writer.IsKnown():
			open = true
		case who == "":
			who = name
		case name != who:
			return ""
		}
	}
	switch {
	case who == "" && open:
		return nameOf(change.Writer{})
	case open && e.Listed:
		return ""
	}
	return who
}

// nameOf returns the name of a field manager, or "unknown".
func nameOf(w change.Writer) string {
	if !w.IsKnown() {
		return "unknown"
	}
	return clean(w.Manager)
}
