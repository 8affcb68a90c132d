package readiness

import (
	"fmt"
	"strings"
)

// hint returns a flag for dwatch wait to try on an object whose state is unknown.
func (j *judge) hint() string {
	var best *condition
	for i := range j.conditions {
		c := &j.conditions[i]
		if !c.nested && c.role != negative && (best == nil || c.role > best.role && c.role != activityRole && c.role != pausedRole) {
			best = c
		}
	}
	if best != nil {
		return "--for condition=" + best.kind
	}
	for _, key := range sortedKeys(j.status) {
		if text, ok := j.status[key].(string); ok && text != "" && (isStateName(key) || stateFields.has(lower(key))) {
			return fmt.Sprintf("--for jsonpath='{.status.%s}'=VALUE", key)
		}
	}
	return ""
}

// needs tells what it takes for the object to be ready.
func (j *judge) needs(answer Answer) string {
	if j.rule != nil && j.rule.ready != nil {
		return oneLine(j.rule.ready.text)
	}
	if answer == Unknown && len(j.unrecognized()) > 0 {
		return "a rule that tells which of its conditions means ready"
	}
	if main := j.main(); main != nil {
		return "the condition " + main.kind + " is True for generation " + fmt.Sprint(j.generation) + ", and no other condition or state reports a failure"
	}
	var types []string
	for _, c := range j.conditions {
		if (c.role == summary || c.role == positive) && len(types) < maxNamed {
			types = append(types, c.kind)
		}
	}
	switch {
	case len(types) == 1:
		return types[0] + " is True, and no other condition or state reports a failure"
	case len(types) > 1:
		return strings.Join(types, " and ") + " are True, and no other condition or state reports a failure"
	case len(j.status) == 0:
		return "a controller writes a status"
	}
	return "a condition such as Ready, or a state such as phase, with a word that dwatch knows"
}

// noteUnrecognized adds the texts on the top level of the status that were not recognized.
func (j *judge) noteUnrecognized() {
	known := map[string]bool{}
	for _, e := range j.evidence {
		known[e.Path] = true
	}
	for _, key := range sortedKeys(j.status) {
		path := "status." + key
		if text, ok := j.status[key].(string); ok && text != "" && !known[path] && (isStateName(key) || stateFields.has(lower(key))) {
			j.note(path, text, "not recognized")
		}
	}
}

// Skeleton returns a rule for the kind of an object, for the user to complete.
func Skeleton(kind, group string, r Result) string {
	ready := "status.phase == 'Ready'"
	if name, ok := strings.CutPrefix(r.Hint, "--for condition="); ok {
		ready = fmt.Sprintf("conditions[%q] == 'True'", name)
		if isIdentifier(name) {
			ready = "conditions." + name + " == 'True'"
		}
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nrules:\n- kinds: %s.%s\n  ready: %s\n", APIVersion, Kind, kind, group, ready)
}

func isIdentifier(name string) bool {
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return name != ""
}
