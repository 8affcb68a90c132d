package output

import (
	"bytes"
	"encoding/json"
	"fmt"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// member is a member of an event, with its value as JSON.
type member struct {
	name  string
	value []byte
}

// compared returns the members of an event that say what is different from the state
// before, as far as they are asked for and that is known.
func (o Options) compared(e event.Event) (members []member, err error) {
	if e.Old.IsZero() || !o.Changes && !o.Patch {
		return nil, nil
	}
	old, new := e.Old.Raw(), e.Object.Raw()
	add := func(name string, value any) {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if failed := encoder.Encode(value); failed != nil {
			err = fmt.Errorf("encode the %s of %s/%s: %w", name, e.Object.Namespace, Line(e.Object.Name), failed)
		}
		members = append(members, member{name, bytes.TrimSpace(line.Bytes())})
	}
	if o.Changes {
		changes := change.BetweenJSON(old, new, o.Compare).Changes
		add("changes", append([]change.Change{}, changes...)) // [] if there are none
	}
	if o.Patch {
		add("patch", change.PatchJSON(old, new, o.Compare.Masks, !o.Unmanaged))
	}
	return members, err
}
