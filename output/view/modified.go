package view

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/output/change"
	"dwatch/watcher/event"
)

// showModified shows what changed, unless that is nothing but noise.
func (v *View) showModified(e *event.Event, now *unstructured.Unstructured) error {
	if e.Old.IsZero() {
		v.line(e.Time, '~', v.subject(e), "changed; what, is not known: the state before is not", "")
		return nil
	}
	before, err := v.open(e.Old)
	if err != nil {
		return err
	}
	result := change.Between(before.Object, now.Object, v.Compare)
	ending := before.GetDeletionTimestamp() == nil && now.GetDeletionTimestamp() != nil
	changes := result.Changes
	if now.GetDeletionTimestamp() != nil {
		changes = withoutDeletion(changes)
	}
	if len(changes) == 0 && !ending {
		v.hidden.Add(1)
		return nil
	}
	v.showChanges(e, changes, summary(now, ending), result.Noise)
	return nil
}

// summary says what the changes come to, where they do not say it.
func summary(now *unstructured.Unstructured, ending bool) string {
	if !ending {
		return ""
	}
	text := "is being deleted"
	if grace := now.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		text += fmt.Sprintf(", %d s of grace", *grace)
	}
	if f := now.GetFinalizers(); len(f) > 0 {
		text += ", waits for " + clean(strings.Join(f, ", "))
	}
	return text
}

// withoutDeletion leaves out what says that an object is being deleted.
func withoutDeletion(changes []change.Change) (others []change.Change) {
	for _, c := range changes {
		switch c.Path.String() {
		case "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds":
		default:
			others = append(others, c)
		}
	}
	return others
}

// showChanges writes one line if that holds all, or else a block.
func (v *View) showChanges(e *event.Event, changes []change.Change, text string, noise int) {
	subject, who := v.subject(e), writer(changes)
	if len(changes) == 1 && text == "" {
		row := v.row(changes[0])
		room := 0
		if v.width > 0 {
			room = v.room(who) - displaywidth.String(subject) - 2
		}
		if one, fits := row.inLine(room); fits {
			v.line(e.Time, '~', subject, one, who)
			return
		}
	}
	if noise > 0 && text == "" && len(changes) > 1 {
		text = fmt.Sprintf("+%d noise", noise)
	}
	v.line(e.Time, '~', subject, text, who)
	for _, c := range changes {
		by := nameOf(c.Who)
		if by == who {
			by = ""
		}
		v.showRow(v.row(c), by)
	}
}

// showRow writes a change on one line, or what does not fit there on more.
func (v *View) showRow(r row, by string) {
	if one, fits := r.inLine(v.room(by)); fits {
		v.detail(one, by)
		return
	}
	v.detail(cutPath(r.path, v.room(by)), by)
	for _, line := range r.lines() {
		v.detail("  "+line, "")
	}
}

// writer is who made all changes; empty if that is not one, or not known.
func writer(changes []change.Change) string {
	who := ""
	for i, c := range changes {
		name := nameOf(c.Who)
		if i > 0 && name != who {
			return ""
		}
		who = name
	}
	return who
}

// nameOf is a field manager; "unknown" where the object does not say who it was.
func nameOf(w change.Who) string {
	if !w.Known() {
		return "unknown"
	}
	return clean(w.Manager)
}
