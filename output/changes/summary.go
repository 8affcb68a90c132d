package changes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dwatch/watcher/object/change"
)

// unfold makes a change for each part of a status, its conditions or containers that came or went.
func unfold(changes []change.Change) (parts []change.Change) {
	for _, c := range changes {
		switch whole := wholeOf(c).(type) {
		case map[string]any:
			parts = append(parts, members(c, whole)...)
		case []any:
			parts = append(parts, items(c, whole)...)
		default:
			parts = append(parts, c)
		}
	}
	return parts
}

// wholeOf is what came or went as a whole; nil if the change is another one.
func wholeOf(c change.Change) any {
	switch c.Kind {
	case change.Added:
		return c.New
	case change.Removed:
		return c.Old
	}
	return nil
}

// members are those of a status; of anything else it is the change itself.
func members(c change.Change, status map[string]any) (parts []change.Change) {
	if c.Path.String() != "status" || len(status) == 0 {
		return []change.Change{c}
	}
	for _, name := range slices.Sorted(maps.Keys(status)) {
		parts = append(parts, part(c, change.Step{Field: name}, status[name]))
	}
	return unfold(parts)
}

// items are the conditions, or containers, of a list of them.
func items(c change.Change, list []any) (parts []change.Change) {
	key := keyOfList(c.Path)
	if key == "" || len(list) == 0 {
		return []change.Change{c}
	}
	for i, value := range list {
		item, _ := value.(map[string]any)
		name, isText := item[key].(string)
		if !isText {
			return []change.Change{c}
		}
		step := change.Step{Item: &change.Item{Index: i, Keys: []change.Key{{Name: key, Value: name}}}}
		parts = append(parts, part(c, step, item))
	}
	return parts
}

// part is what happened to a part of what was added or removed.
func part(c change.Change, step change.Step, value any) change.Change {
	c.Path = append(slices.Clip(c.Path), step)
	if c.Kind == change.Added {
		c.New = value
	} else {
		c.Old = value
	}
	return c
}

// keyOfList tells the items of a list of conditions or containers apart; empty for other lists.
func keyOfList(path change.Path) string {
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

// summarize says in short what condition, container or state came or went; false if it is more.
func summarize(c change.Change) (string, bool) {
	item, isMap := wholeOf(c).(map[string]any)
	last := len(c.Path) - 1
	switch {
	case !isMap:
		return "", false
	case c.Path[last].Item == nil:
		text := explain(item)
		return text, isState(c.Path) && text != ""
	}
	switch keyOfList(c.Path[:last]) {
	case "type":
		return condition(item)
	case "name":
		return container(item)
	}
	return "", false
}

// isState reports whether a path leads to why a container waits or has ended.
func isState(path change.Path) bool {
	last := len(path) - 1
	if last < 3 || path[last-2].Item == nil || keyOfList(path[:last-2]) != "name" {
		return false
	}
	state, kind := path[last-1].Field, path[last].Field
	return (state == "state" || state == "lastState") && (kind == "waiting" || kind == "terminated")
}

// condition is such as "False, Unreachable: no route to host".
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

// container is such as "web:1, waiting, ImagePullBackOff: no such image".
func container(c map[string]any) (string, bool) {
	image, _ := c["image"].(string)
	states, _ := c["state"].(map[string]any)
	if len(states) != 1 || image == "" {
		return "", false
	}
	text := image
	if count := c["restartCount"]; count != nil && fmt.Sprint(count) != "0" {
		text += ", restarted " + fmt.Sprint(count) + " times"
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

// explain says why a condition or a container is as it is: "exit code 137, OOMKilled".
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
