package page

import (
	"fmt"
	"strings"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
)

// Limits of a change message. maxValue and maxPath are in characters.
const (
	maxChanges = 40
	maxValue   = 500
	maxPath    = 1000
	// maxDiff is the maximum number of lines of a diff, and maxLine the maximum number of characters of a line.
	maxDiff = 20
	maxLine = 200
)

// changeMessageOf returns the message of a change. Hub.draw adds Seq, Lead and the row.
func changeMessageOf(c *inventory.Change) changeMessage {
	m := changeMessage{Type: "change", Event: string(c.Event.Type), Time: millis(c.Event.Time), called: calledBy(c.State.Entry)}
	if c.Diff != nil {
		m.Noise = c.Diff.NoiseCount
		all := change.FoldConditions(change.SplitStatus(c.Diff.Changes)) // the same as -o changes
		for i := range all[:min(len(all), maxChanges)] {
			m.Changes = append(m.Changes, changeItemOf(&all[i]))
		}
		m.More = len(all) - len(m.Changes)
	}
	if c.Event.Type != event.Modified {
		m.Status = new(statusOf(c.State))
	}
	m.Feed, m.Text, m.Meant = c.IsSignificant(), textOf(c), c.IntentionalOrWarning
	if r := c.State.Repeat; m.Feed && r.Times > 1 {
		m.Times, m.Since = r.Times, millis(r.First)
	}
	if r := c.Root; r.UID != "" && r.UID != c.State.Entry.UID {
		m.Root = &rootRef{clip(r.Kind, maxName), clip(r.Name, maxName)}
	}
	return m
}

// textOf explains what the changed fields do not show, for example why they are unknown. It is often empty.
func textOf(c *inventory.Change) string {
	s := c.State
	switch {
	case s.Object.IsEvent():
		return eventText(s.Object.Raw())
	case c.Event.Type == event.Added && !s.Entry.PredecessorDeleted.IsZero():
		return fmt.Sprintf("replaces the one deleted %d s ago", max(s.Time.Sub(s.Entry.PredecessorDeleted), 0)/time.Second)
	case c.Event.Type == event.Deleted && c.Event.FinalStateUnknown:
		return inventory.DetectedLate
	case c.Event.Type != event.Modified:
		return ""
	case c.Diff == nil && c.Before != nil:
		return "changed, details unknown: intermediate states were dropped"
	case c.Diff == nil:
		return "changed, details unknown: the previous state is missing"
	case s.DeletionMessage != c.Before.DeletionMessage:
		return clip(s.DeletionMessage, maxMessage)
	case s.Listed: // there may have been other states in between
		return inventory.DetectedLate
	}
	return ""
}

func changeItemOf(c *change.Change) changeItem {
	one := changeItem{Path: clip(c.Path.String(), maxPath), Who: clip(c.Writer.Manager, maxName), Masked: c.Masked}
	if c.Kind != change.Changed {
		one.Kind = string(c.Kind)
	}
	before, after := c.Old, c.New
	if text, known := c.Summary(); known {
		before, after = text, text
	}
	if one.Diff, one.DiffMore = diffOf(c); one.Diff != nil {
		return one
	}
	if c.Kind != change.Added {
		one.Old, one.OldMore = valueText(before)
	}
	if c.Kind != change.Removed {
		one.New, one.NewMore = valueText(after)
	}
	return one
}

// diffOf returns the first lines of a unified diff and the number of omitted lines. It returns nil unless both values are
// text and at least one of them has several lines.
func diffOf(c *change.Change) (lines []string, more int) {
	before, wasText := c.Old.(string)
	after, isText := c.New.(string)
	if !wasText || !isText || !change.IsMultiline(before) && !change.IsMultiline(after) {
		return nil, 0
	}
	all := strings.Split(strings.TrimSuffix(change.UnifiedDiff(before, after), "\n"), "\n")
	for _, line := range all[:min(len(all), maxDiff)] {
		lines = append(lines, clip(line, maxLine))
	}
	return lines, len(all) - len(lines)
}

func eventText(content string) string {
	e := kubeevent.Parse(content)
	text := e.Reason
	if e.IsWarning() {
		text = "Warning " + text
	}
	if e.Count > 1 {
		text = fmt.Sprintf("×%d %s", e.Count, text)
	}
	return clip(e.InvolvedObjectName()+" "+text+": "+e.Message, maxValue)
}
