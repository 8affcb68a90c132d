package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SplitStatus replaces an added or removed status, list of conditions or list of container statuses by one change for each
// of its parts.
func SplitStatus(changes []Change) (parts []Change) {
	for _, c := range changes {
		switch whole := c.WholeValue().(type) {
		case map[string]any:
			parts = append(parts, statusParts(c, whole)...)
		case []any:
			parts = append(parts, listParts(c, whole)...)
		default:
			parts = append(parts, c)
		}
	}
	return parts
}

// WholeValue returns the value that was added or removed, or nil if c has another kind.
func (c *Change) WholeValue() any {
	switch c.Kind {
	case Added:
		return c.New
	case Removed:
		return c.Old
	}
	return nil
}

// statusParts splits an added or removed status. It returns other changes as they are.
func statusParts(c Change, status map[string]any) (parts []Change) {
	if c.Path.String() != "status" || len(status) == 0 {
		return []Change{c}
	}
	for _, name := range slices.Sorted(maps.Keys(status)) {
		parts = append(parts, part(c, Step{Field: name}, status[name]))
	}
	return SplitStatus(parts)
}

// listParts splits an added or removed list of conditions or containers. It returns other changes as they are.
func listParts(c Change, list []any) (parts []Change) {
	key := ListKey(c.Path)
	if key == "" || len(list) == 0 {
		return []Change{c}
	}
	for i, value := range list {
		item, _ := value.(map[string]any)
		name, isText := item[key].(string)
		if !isText {
			return []Change{c}
		}
		step := Step{Item: &Item{Index: i, Keys: []Key{{Name: key, Value: name}}}}
		parts = append(parts, part(c, step, item))
	}
	return parts
}

// part returns the change of one part of a value that was added or removed.
func part(c Change, step Step, value any) Change {
	c.Path = append(slices.Clip(c.Path), step)
	if c.Kind == Added {
		c.New = value
	} else {
		c.Old = value
	}
	return c
}

// ListKey returns the key of a list of conditions or container statuses, or an empty string for other lists.
func ListKey(path Path) string {
	if len(path) < 2 || path[0].Field != "status" {
		return ""
	}
	switch path[len(path)-1].Field {
	case "conditions":
		return "type"
	case "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses":
		return "name"
	}
	return ""
}

// Summary describes a condition, a container status or the state of a container that was added or removed, in a few words.
// ok is false for other changes, and if the text would omit fields of the condition.
func (c *Change) Summary() (text string, ok bool) {
	item, isMap := c.WholeValue().(map[string]any)
	last := len(c.Path) - 1
	switch {
	case !isMap:
		return "", false
	case c.Path[last].Item == nil:
		text := explain(item)
		return text, isState(c.Path) && text != ""
	}
	switch ListKey(c.Path[:last]) {
	case "type":
		return condition(item)
	case "name":
		return container(item)
	}
	return "", false
}

// isState reports whether a path leads to the waiting or terminated state of a container.
func isState(path Path) bool {
	last := len(path) - 1
	if last < 3 || path[last-2].Item == nil || ListKey(path[:last-2]) != "name" {
		return false
	}
	state, kind := path[last-1].Field, path[last].Field
	return (state == "state" || state == "lastState") && (kind == "waiting" || kind == "terminated")
}

// condition returns text like "False, Unreachable: no route to host".
func condition(c map[string]any) (string, bool) {
	for name, value := range c {
		_, isText := value.(string)
		if !isText || !slices.Contains([]string{"type", "status", "reason", "message"}, name) {
			return "", false
		}
	}
	status, _ := c["status"].(string)
	return join(status, explain(c)), status != ""
}

// container returns text like "web:1, waiting, ImagePullBackOff: no such image".
func container(c map[string]any) (string, bool) {
	image, _ := c["image"].(string)
	states, _ := c["state"].(map[string]any)
	if len(states) != 1 || image == "" {
		return "", false
	}
	text := image
	switch count := c["restartCount"]; {
	case count == nil, isZero(count):
	case count == json.Number("1"):
		text += ", restarted once"
	default:
		text += ", restarted " + scalarText(count) + " times"
	}
	for name, value := range states {
		state, _ := value.(map[string]any)
		text = join(text, join(name, explain(state)))
	}
	if ready, _ := c["ready"].(bool); ready {
		text += ", ready"
	}
	return text, true
}

// explain returns the exit code, reason and message of a condition or container state, like "exit code 137, OOMKilled".
func explain(state map[string]any) (text string) {
	if code := state["exitCode"]; code != nil {
		text = "exit code " + fmt.Sprint(code)
	}
	reason, _ := state["reason"].(string)
	text = join(text, reason)
	if message, _ := state["message"].(string); message != "" {
		if text != "" {
			text += ": "
		}
		text += strings.Join(strings.Fields(message), " ")
	}
	return text
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}
