package page

import (
	"fmt"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
)

// maxChanges is how many changes a message has, and maxValue how many characters a value.
const (
	maxChanges = 40
	maxValue   = 500
	maxPath    = 1000
)

// messageOf is the message of a change, but for its number and its row.
func messageOf(c *inventory.Change) changed {
	m := changed{Type: "change", Event: string(c.Event.Type), Time: millis(c.Event.Time), called: calledBy(c.State.Of)}
	if c.Diff != nil {
		m.Noise = c.Diff.Noise
		for i := range c.Diff.Changes[:min(len(c.Diff.Changes), maxChanges)] {
			m.Changes = append(m.Changes, oneOf(&c.Diff.Changes[i]))
		}
		m.More = len(c.Diff.Changes) - len(m.Changes)
	}
	if c.Event.Type != event.Modified {
		m.Status = new(statusOf(c.State))
	}
	m.Feed, m.Text = feed(c)
	return m
}

// feed reports whether a change belongs into a feed, and says what its changes do not.
func feed(c *inventory.Change) (belongs bool, text string) {
	s := c.State
	switch c.Event.Type {
	case event.Added:
		belongs = !c.Event.Initial
		if !s.Of.Replaced.IsZero() {
			text = fmt.Sprintf("replaces the one deleted %d s ago", max(s.Time.Sub(s.Of.Replaced), 0)/time.Second)
		}
	case event.Deleted:
		belongs = true
		if c.Event.FinalStateUnknown {
			text = "found out later"
		}
	case event.Modified:
		switch {
		case c.Diff == nil:
			belongs, text = true, "changed; what, is not known: the state before is not"
		case s.Deletion != c.Before.Deletion:
			belongs, text = true, clip(s.Deletion, maxMessage)
		default:
			belongs = len(c.Diff.Changes) > 0
		}
	}
	if s.Object.IsEvent() {
		return c.Event.Type != event.Deleted && !c.Event.Initial, eventText(s.Object.Raw())
	}
	return belongs, text
}

func oneOf(c *change.Change) oneChange {
	one := oneChange{Path: clip(c.Path.String(), maxPath), Kind: string(c.Kind), Who: clip(c.Who.Manager, maxName), Masked: c.Masked}
	if c.Kind != change.Added {
		one.Old, one.OldMore = valueText(c.Old)
	}
	if c.Kind != change.Removed {
		one.New, one.NewMore = valueText(c.New)
	}
	return one
}

func eventText(content string) string {
	e := kubeevent.Parse(content)
	text := e.Reason
	if e.IsWarning() {
		text = "Warning " + text
	}
	return clip(e.Subject()+" "+text+": "+e.Message, maxValue)
}
