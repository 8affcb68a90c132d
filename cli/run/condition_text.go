package run

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/status"
	"dwatch/watcher/until"
)

// isWord reports whether a condition is this word, and nothing else.
func isWord(c flags.Condition, word string) bool {
	return c.IsSet() && strings.TrimSpace(c.Text) == word
}

// heldText tells what a run waited for and got: "deploy/web ready after 4.2s".
func (w *conditionStage) heldText(o *until.Outcome) string {
	if isWord(w.run.cfg.Ending.Until, "ready") {
		return w.decider(o) + " ready " + w.when()
	}
	return fmt.Sprintf("%s: %s holds %s", w.decider(o), w.run.cfg.Ending.Until, w.when())
}

// failedText tells that --fail-if holds: "deploy/web failed after 15s: ImagePullBackOff nginx:1.288". text describes the
// object and begins with subject.
func (w *conditionStage) failedText(subject, text string) string {
	if isWord(w.run.cfg.Ending.FailIf, "failed") {
		return subject + " failed " + w.when() + detail(subject, text)
	}
	return fmt.Sprintf("%s holds %s: %s", w.run.cfg.Ending.FailIf, w.when(), text)
}

// notReadyText tells that an object was not ready in time: "deploy/web not ready after 5m: 1/3 pods available".
func (w *conditionStage) notReadyText(p until.PendingItem, text string) string {
	subject := p.AwaitedName
	if subject == "" {
		subject = w.run.scope.Subject(p.Target, p.Object)
		if p.Object.IsZero() && p.Target.Name == "" {
			subject = withCluster(p.Target.Cluster, p.Target.Resource().Resource)
		}
	}
	return subject + " not ready after " + shortDuration(w.run.cfg.Ending.Timeout) + detail(subject, text)
}

// detail returns what a description of an object says after the object and the word of its state.
func detail(subject, text string) string {
	rest := strings.TrimPrefix(text, subject)
	for _, word := range []string{" InProgress", " Failed"} {
		rest = strings.TrimPrefix(rest, word)
	}
	if rest = strings.TrimLeft(rest, ": "); rest == "" {
		return ""
	}
	return ": " + rest
}

// shortDuration is a duration without units that are zero: "5m", not "5m0s".
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// unknownText tells why the state of an object is unknown, and what the user can type.
func unknownText(o event.Object, s status.State) string {
	if s.Message == "" {
		return "has no status yet"
	}
	text := "unknown: " + s.Message + ": use "
	if s.Hint != "" {
		text += s.Hint + ", or "
	}
	return text + "a rule as in dwatch explain-readiness " + strings.ToLower(o.Kind) + "/" + o.Name
}

// notYet describes an object by the values that keep the expression of --for or --until from being true. It is empty for
// words such as ready, for the forms of kubectl wait that have their own words, and if the expression reads no values.
func (w *conditionStage) notYet(p until.PendingItem) string {
	c := w.run.cfg.Ending.Until
	if p.Object.IsZero() || p.ConnectionError != nil || p.Unsynced || w.asksStatus() || strings.HasPrefix(strings.ToLower(c.Text), "condition=") {
		return ""
	}
	u, err := p.Object.Decode()
	if err != nil {
		return ""
	}
	values := pendingValues(c.Fields, w.run.cfg.Print.Compare.Masks.MaskObject(u.Object))
	if values == "" {
		return ""
	}
	return w.run.scope.Subject(p.Target, p.Object) + ": not yet: " + values
}

// maxValues is how many values of an expression are quoted.
const maxValues = 3

// pendingValues returns the values of the fields that an expression reads, such as "object.spec.replicas is 3". It leaves
// out lists and objects.
func pendingValues(fields []change.FieldPath, object map[string]any) string {
	var values []string
	for _, f := range fields {
		value, isScalar := scalarAt(object, f)
		if !isScalar {
			continue
		}
		name := "object"
		for _, step := range f {
			if plainStep.MatchString(step) {
				name += "." + step
			} else {
				name += fmt.Sprintf("[%q]", step)
			}
		}
		if values = append(values, name+" is "+value); len(values) == maxValues {
			break
		}
	}
	return output.EscapeLine(strings.Join(values, ", "))
}

var plainStep = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// scalarAt returns a value as JSON, and false for a list or an object. A field that does not exist is "not set".
func scalarAt(object map[string]any, path change.FieldPath) (string, bool) {
	var at any = object
	for _, step := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return "", step != change.AnyField && at == nil
		}
		if at, ok = m[step]; !ok {
			return "not set", step != change.AnyField
		}
	}
	switch at.(type) {
	case map[string]any, []any:
		return "", false
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(at)
	text := strings.TrimSuffix(b.String(), "\n")
	const longest = 80
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…", err == nil
	}
	return text, err == nil
}
