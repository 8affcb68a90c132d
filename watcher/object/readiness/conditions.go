package readiness

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A condition as its status reports it.
type condition struct {
	path, kind      string // where it is, and its type
	status          string // True, False, Unknown or a word of its own
	reason, message string
	severity        string
	generation      int64     // that its controller observed, 0 if it does not say
	stale           bool      // it is about an older generation
	since           time.Time // when its status changed, zero if it does not say
	words           []string
	role            role
	nested          bool
}

// role is what the type of a condition means.
type role int

const (
	noRole role = iota // a type that dwatch does not know
	// positive conditions are True if a part of the object works.
	positive
	// step conditions are positive and True long before the object is ready.
	step
	// summary conditions are positive, and about the object as a whole.
	summary
	// activityRole conditions are True while the controller works.
	activityRole
	// pausedRole conditions are True while the object is paused.
	pausedRole
	// negative conditions are True when something is wrong.
	negative
)

var (
	// summaries are the types of conditions that are about the whole object. "Ready" decides if it is present.
	summaries = wordSet(`ready available healthy succeeded complete completed established programmed synced insync accepted valid
		deployed installed reconciled applied successful operational online up uptodate deployable serving resourcesynced
		remotesynced fullyapplied compliant instanceready provisioned allocated issued`)
	// decisive are the summaries that make an object ready even if it has conditions that dwatch does not know.
	decisive = wordSet(`ready available healthy succeeded complete completed established programmed operational`)
	// steps are the types of conditions that say that a first step is done, and nothing about the rest.
	steps = wordSet(`launched registered initialized created scheduled podscheduled admitted submitted approved requested validated
		configured bound assigned started discovered initialised acknowledged nameaccepted namesaccepted`)
	// outcomes are True when the work has ended, for better or worse.
	outcomes = wordSet(`complete completed finished done`)
	// neutral conditions say what an object does or can do, and not whether it is ready.
	neutral = wordSet(`upgradeable active migratable fallback`)
	// negativeWords, activityWords and pausedWords in the type of a condition make it one of that role.
	negativeWords = wordSet(`failed failure failures fail error errors err stalled degraded invalid unhealthy conflict conflicts conflicted
		misconfigured blocked terminal rejected orphan orphaned crashed timeout timedout exceeded lost unreachable
		disconnected warning warnings denied unavailable unsupported corrupt corrupted notready unready unschedulable aborted
		cancelled canceled expired missing deadlock exhausted overloaded panic pressure mismatch`)
	activityWords = wordSet(`progressing progress inprogress reconciling updating upgrading creating issuing pending waiting running scaling
		provisioning deploying initializing installing deleting terminating migrating restarting rolling
		rollout restoring backing syncing resizing rebalancing configuring building processing recovering scheduling`)
	pausedTypes = wordSet(`paused suspended hibernation hibernated hibernating stopped disabled`)
	// goodWords are the last words of the types of positive conditions.
	goodWords = wordSet(`ready available healthy valid programmed accepted synced established succeeded success successful successfully
		complete completed ok reconciled deployed installed applied provisioned initialized scheduled created configured bound
		connected admitted registered joined finished validated launched attached enabled generated released upgraded uptodate
		resolved approved issued verified loaded serving built pushed published exists online operational compliant
		allocated assigned uploaded updated stored imported executed deployable passed populated consistent refs reachable
		authenticated authorized present found discovered provided formed done satisfied met converged rolled prepared running`)
)

// conditionsOf returns the conditions of a status, and of the lists that are nested in it, such as the parents of a
// route. Whatever is not a condition is left out.
func conditionsOf(status map[string]any, keys []string, generation int64) (found []condition) {
	found = appendConditions(nil, "status.conditions", status["conditions"], generation, false)
	for _, name := range keys {
		list, _ := status[name].([]any)
		if len(list) == 0 || name == "conditions" || isHistory(name) {
			continue
		}
		before := len(found)
		var silent []condition // parts that have not reported yet, although others have
		for i, one := range list {
			m, ok := one.(map[string]any)
			if !ok {
				continue
			}
			path, n := "status."+name+"["+strconv.Itoa(i)+"].conditions", len(found)
			if found = appendConditions(found, path, m["conditions"], generation, true); len(found) == n && summarizedLists.has(lower(name)) {
				silent = append(silent, condition{path: path, kind: "conditions", status: "Unknown", message: "not reported yet", words: []string{"conditions"}, role: positive, nested: true})
			}
		}
		if len(found) > before {
			found = append(found, silent...)
		}
	}
	return found
}

func appendConditions(found []condition, path string, value any, generation int64, nested bool) []condition {
	switch all := value.(type) {
	case []any:
		for _, one := range all {
			if m, ok := one.(map[string]any); ok {
				kind, _ := m["type"].(string)
				found = appendCondition(found, path, kind, m, generation, nested)
			}
		}
	case map[string]any: // by type
		for _, kind := range sortedKeys(all) {
			switch one := all[kind].(type) {
			case map[string]any:
				if name, ok := one["type"].(string); ok {
					kind = name
				}
				found = appendCondition(found, path, kind, one, generation, nested)
			case string, bool:
				found = appendCondition(found, path, kind, map[string]any{"status": one}, generation, nested)
			}
		}
	}
	return found
}

func appendCondition(found []condition, path, kind string, m map[string]any, generation int64, nested bool) []condition {
	c := condition{path: path, kind: kind, status: conditionStatus(m["status"]), nested: nested}
	if c.kind == "" {
		return found
	}
	c.reason, c.message, c.severity = textOf(m["reason"]), textOf(m["message"]), textOf(m["severity"])
	if at, err := time.Parse(time.RFC3339, textOf(m["lastTransitionTime"])); err == nil && c.status == "False" {
		c.since = at
	}
	c.generation = integer(m["observedGeneration"])
	c.stale = c.generation > 0 && c.generation < generation
	if c.words, c.role = roleOf(kind); c.status == "" {
		if c.role != summary && c.role != positive {
			return found
		}
		c.status = "Unknown"
	}
	return append(found, c)
}

// conditionStatus returns the status of a condition. Some controllers write a boolean, or another case.
func conditionStatus(value any) string {
	switch value := value.(type) {
	case bool:
		if value {
			return "True"
		}
		return "False"
	case string:
		for _, known := range []string{"True", "False", "Unknown"} {
			if strings.EqualFold(value, known) {
				return known
			}
		}
		return value
	}
	return ""
}

// roleOf returns the words of a type of condition without its domain, and its role.
func roleOf(kind string) ([]string, role) {
	if i := strings.LastIndexAny(kind, "./"); i >= 0 && i+1 < len(kind) {
		kind = kind[i+1:]
	}
	words := wordsOf(kind)
	name := strings.Join(words, "")
	switch {
	case len(words) == 0, neutral.has(words[len(words)-1]):
		return words, noRole
	case summaries.has(name):
		return words, summary
	case steps.has(name):
		return words, step
	case len(words) > 1 && negations.has(words[0]) && negativeWords.has(words[1]): // NoWarnings
		return words, positive
	case slices.ContainsFunc(words, func(w string) bool { return negativeWords.has(w) }):
		return words, negative
	}
	for i, w := range words[:len(words)-1] {
		if negations.has(w) && (goodWords.has(words[i+1]) || meanings()[words[i+1]] == good) {
			return words, negative
		}
	}
	switch {
	case words[0] == "has" && len(words) == 2 && negativeWords.has(words[1]):
		return words, negative
	case slices.ContainsFunc(words, func(w string) bool { return pausedTypes.has(w) }):
		return words, pausedRole
	case slices.ContainsFunc(words, func(w string) bool { return activityWords.has(w) }):
		return words, activityRole
	case slices.ContainsFunc(words, func(w string) bool { return goodWords.has(w) }):
		return words, positive
	}
	return words, noRole
}

// summarizedLists are the lists of a status whose conditions say together whether the object is ready. In other lists, such
// as pods, only failures and work in progress count.
var summarizedLists = wordSet(`parents ancestors listeners entries ingress ingresses routes gateways controllers clusters`)

// isSummarized reports whether a nested condition is in one of the summarizedLists.
func (c *condition) isSummarized() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(c.path, "status."), "[")
	return summarizedLists.has(lower(name))
}

// hasType reports whether names contains the type of the condition, without its domain.
func (c *condition) hasType(names *words) bool { return names.has(strings.Join(c.words, "")) }

// text is what the condition says, in one line.
func (c *condition) text() string {
	text := because(c.reason, c.message)
	name := c.kind
	if c.nested {
		name = strings.TrimPrefix(strings.TrimSuffix(c.path, ".conditions"), "status.") + " " + name
	}
	switch {
	case text == "":
		return name + " is " + c.status
	case c.kind == "Ready" && !c.nested, c.role == negative && !c.nested:
		return text
	}
	return name + " is " + c.status + ": " + text
}

// why returns what the reason, the severity and the message of a condition that is not as it should be say: bad if
// that is a failure, busy or paused if it is on its way, unknown if they don't say.
func (c *condition) why(activity bool) meaning {
	switch strings.ToLower(c.severity) {
	case "error":
		return bad
	case "warning", "info":
		return busy
	}
	reason := meaningOf(c.reason, activity)
	if reason == bad {
		return bad
	}
	switch message := meaningOfMessage(c.message); {
	case reason == unknown || reason == good:
		return message
	case message == bad:
		return bad
	}
	return reason
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func because(reason, message string) string {
	if reason == "" || message == "" || reason == message {
		return max(reason, message)
	}
	return reason + ": " + message
}

// textOf returns a string on one line; empty if the value is none.
func textOf(value any) string {
	text, _ := value.(string)
	if !strings.ContainsAny(text, "\n\t\r") {
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// integer returns a number that may be written as a string; 0 if the value is none.
func integer(value any) int64 {
	n, _ := number(value)
	return n
}

func number(value any) (int64, bool) {
	switch value := value.(type) {
	case int64:
		return value, true
	case float64:
		return int64(value), value == float64(int64(value))
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		return n, err == nil
	}
	return 0, false
}
