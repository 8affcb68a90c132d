package changes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/pod"
)

// foldRestarts returns a line for each container that restarted, with the number of restarts and the reason of the last termination,
// and the changes that these lines do not cover.
func foldRestarts(e *event.Event, changes []change.Change, masks *change.Masks) (lines []string, rest []change.Change) {
	if !slices.ContainsFunc(changes, isRestart) {
		return nil, changes
	}
	now := masks.MaskJSON(e.Object.Raw())
	several := len(pod.ParseContainers(now)) > 1
	folded := map[string]bool{}
	for _, r := range pod.FindRestarts(e.Old.Raw(), now) {
		line := restartLine(r)
		if several {
			line = r.Name + " " + line
		}
		folded[r.Name], lines = true, append(lines, clean(line))
	}
	for _, c := range changes {
		switch {
		case folded[containerOf(c.Path)] && isOfRestart(c.Path):
		case len(lines) > 0 && isReadiness(c.Path):
			lines[0] += readiness(c)
		default:
			rest = append(rest, c)
		}
	}
	return lines, rest
}

// restartLine returns a line such as "restarted (4): OOMKilled, exit 137, after 3 min; CrashLoopBackOff".
func restartLine(r pod.Restart) string {
	line := fmt.Sprintf("restarted (%d)", r.Restarts)
	switch {
	case r.NewRestarts > 1 && r.NewRestarts == r.Restarts:
		line = fmt.Sprintf("restarted %d times", r.NewRestarts)
	case r.NewRestarts > 1:
		line = fmt.Sprintf("restarted %d times (%d in total)", r.NewRestarts, r.Restarts)
	}
	var why []string
	if last := r.LastTerminated; last != nil {
		why = append(why, last.Reason, last.ExitText())
		if last.Duration > 0 {
			why = append(why, "after "+age(last.Duration))
		}
	}
	why = slices.DeleteFunc(why, func(part string) bool { return part == "" })
	if len(why) > 0 {
		line += ": " + strings.Join(why, ", ")
	}
	if r.Waiting.Reason != "" {
		line += "; " + r.Waiting.Reason
	}
	return line
}

// isRestart reports whether the restart count of a container increased.
func isRestart(c change.Change) bool {
	if c.Kind != change.Changed || containerOf(c.Path) == "" || c.Path[len(c.Path)-1].Field != "restartCount" {
		return false
	}
	before, isNumber := c.Old.(json.Number)
	now, too := c.New.(json.Number)
	was, err := before.Int64()
	is, errNow := now.Int64()
	return isNumber && too && err == nil && errNow == nil && is > was
}

// isOfRestart reports whether a restart changes a field of a container's status by itself. The line of the restart covers it.
func isOfRestart(path change.Path) bool {
	switch path[3].Field {
	case "restartCount", "state", "lastState", "containerID", "ready", "started":
		return true
	}
	return false
}

// containerOf returns the name of the container to whose status a path belongs, or "".
func containerOf(path change.Path) string {
	if len(path) < 4 || path[2].Item == nil || change.ListKey(path[:2]) != "name" || len(path[2].Item.Keys) != 1 {
		return ""
	}
	name, _ := path[2].Item.Keys[0].Value.(string)
	return name
}

// isReadiness reports whether a path belongs to the condition Ready or ContainersReady.
func isReadiness(path change.Path) bool {
	if len(path) < 3 || path[2].Item == nil || change.ListKey(path[:2]) != "type" || len(path[2].Item.Keys) != 1 {
		return false
	}
	kind := path[2].Item.Keys[0].Value
	return kind == "Ready" || kind == "ContainersReady"
}

// readiness describes a change of the condition Ready. It returns "" for other changes.
func readiness(c change.Change) string {
	isStatus := len(c.Path) == 3 || c.Path[3].Field == "status"
	now, _ := c.New.(string)
	switch {
	case !isStatus || c.Path[2].Item.Keys[0].Value != "Ready" || c.Kind != change.Changed:
		return ""
	case strings.HasPrefix(now, "True"):
		return "; ready"
	}
	return "; not ready"
}
