// Package readiness decides whether a custom resource is ready, by its status.
//
// An answer needs evidence. "Ready" requires a positive sign and "failed" a negative one. Without either, the answer
// is "unknown", which says what is missing. docs/explanations/readiness.md explains the algorithm.
package readiness

import (
	"fmt"
	"strings"
	"time"
)

// Answer is the state of an object.
type Answer int

const (
	Unknown Answer = iota
	Ready
	InProgress
	Failed
)

func (a Answer) String() string {
	return [...]string{"unknown", "ready", "in progress", "failed"}[a]
}

// Result is an Answer with its reasons.
type Result struct {
	Answer Answer
	// Message says in one line what keeps the object from being ready. It is empty if the object is ready.
	Message string
	// HasReason is true if the message gives the reason, and not only the state.
	HasReason bool
	// FailsAt is when the object counts as failed if nothing changes until then. It is zero if the answer does not depend on
	// time.
	FailsAt time.Time
	// By names the rule that decided.
	By string
	// Hint is a flag of dwatch wait to try if the answer is unknown, such as "--for condition=Synced". It may be empty.
	Hint string
	// Needs tells what it takes to be ready, and Source where a rule for the kind comes from. Only Explain sets them.
	Needs, Source string
	// Evidence lists what was read, if Explain was asked.
	Evidence []Evidence
}

// Evidence is a field that counts.
type Evidence struct {
	Path, Value string
	Says        string // ready, in progress, paused, failed, or "not recognized"
}

// noStatus is Result.By of an object without a status.
const noStatus = "no status"

// HasStatus reports whether the object had a status to judge.
func (r Result) HasStatus() bool { return r.By != noStatus }

// judge collects what one status says.
type judge struct {
	now        time.Time
	kind       string
	activity   bool
	generation int64
	status     map[string]any
	keys       []string // of status, sorted
	spec       map[string]any
	conditions []condition
	object     map[string]any
	rule       *Rule // for the kind, or nil
	explain    bool
	evidence   []Evidence
	// hasUnknownState is true if a field such as phase has a word that dwatch does not know.
	hasUnknownState bool
}

// Judge returns the state of an object at a time: by the rule for its kind if there is one, and by general rules otherwise.
// It does not look at metadata.deletionTimestamp.
func Judge(object map[string]any, now time.Time) Result { return newJudge(object, now, false).decide() }

// Explain is Judge with the evidence.
func Explain(object map[string]any, now time.Time) Result {
	j := newJudge(object, now, true)
	r := j.decide()
	j.noteUnrecognized()
	r.Evidence, r.Needs = j.evidence, j.needs(r.Answer)
	if j.rule != nil {
		r.Source = j.rule.Source
	}
	return r
}

func newJudge(object map[string]any, now time.Time, explain bool) *judge {
	j := &judge{now: now, explain: explain}
	j.kind, _ = object["kind"].(string)
	if words := splitOf(j.kind); len(words) > 0 {
		j.activity = activities.has(words[len(words)-1])
	}
	metadata, _ := object["metadata"].(map[string]any)
	j.generation = integer(metadata["generation"])
	j.spec, _ = object["spec"].(map[string]any)
	switch status := object["status"].(type) {
	case map[string]any:
		j.status = status
	case string: // the status is one word
		j.status = map[string]any{"status": status}
	}
	j.keys = sortedKeys(j.status)
	j.conditions = conditionsOf(j.status, j.keys, j.generation)
	j.object = object
	apiVersion, _ := object["apiVersion"].(string)
	group := ""
	if i := strings.IndexByte(apiVersion, '/'); i >= 0 {
		group = apiVersion[:i]
	}
	j.rule = ruleFor(j.kind, group)
	return j
}

func (j *judge) decide() Result {
	if j.rule == nil {
		r := j.general()
		if observed := j.observed(); r.Answer == Ready && (observed < 0 || observed > j.generation && j.generation > 0) { // of another object, or of none yet
			return j.outdated(observed)
		}
		return r
	}
	if !j.rule.AnyGeneration {
		if old := j.stale(); old > 0 {
			return j.outdated(old)
		}
		if c := j.staleSummary(); c != nil {
			return Result{Answer: InProgress, By: "generation", Message: j.staleText(c)}
		}
	}
	return j.byRule(j.rule, j.general)
}

func (j *judge) outdated(observed int64) Result {
	return Result{Answer: InProgress, By: "generation", Message: fmt.Sprintf("%s generation is %d, but latest observed generation is %d", j.kind, j.generation, observed)}
}

// general decides without a rule for the kind.
func (j *judge) general() Result {
	if len(j.status) == 0 {
		return Result{By: noStatus, Message: "it has no status: no controller has reported about it"}
	}
	if old := j.stale(); old > 0 && (j.rule == nil || !j.rule.AnyGeneration) {
		return j.outdated(old)
	}
	words, counts := j.words(), j.counts()
	conditions := j.byConditions()
	return j.combine(conditions, words, counts)
}

// observed returns the generation that the controller has observed, 0 if it does not say.
func (j *judge) observed() int64 {
	if observed, ok := j.status["observedGeneration"]; ok {
		return integer(observed)
	}
	for _, key := range j.keys {
		switch lower(key) {
		case "observedgeneration", "observed_generation", "lastobservedgeneration":
			return integer(j.status[key])
		}
	}
	return 0
}

// stale returns the generation that the controller has observed, if it is an older one.
func (j *judge) stale() int64 {
	observed := j.observed()
	if observed > 0 && observed < j.generation {
		j.note("status.observedGeneration", fmt.Sprint(observed), fmt.Sprintf("in progress: metadata.generation is %d", j.generation))
		return observed
	}
	return 0
}

// staleSummary returns a condition about the whole object that is of an older generation, if none is current. In nested
// lists every condition has to be current.
func (j *judge) staleSummary() (old *condition) {
	for i := range j.conditions {
		c := &j.conditions[i]
		switch {
		case c.role != summary, c.nested && !c.stale:
		case !c.stale:
			return nil
		case old == nil:
			old = c
		}
	}
	return old
}

func (j *judge) staleText(c *condition) string {
	return fmt.Sprintf("%s generation is %d, but condition %s is of %d", j.kind, j.generation, c.kind, c.generation)
}

func (j *judge) note(path, value, says string) {
	if j.explain {
		j.evidence = append(j.evidence, Evidence{path, value, says})
	}
}

// finding is the conclusion from one kind of evidence: conditions, state words or counts.
type finding struct {
	meaning meaning
	text    string
	by      string
	// decides is true of a good finding that needs no other.
	decides bool
	reason  bool
	failsAt time.Time // when a busy finding becomes bad; zero if it does not
}

// combine weighs the findings: a failure wins over work in progress, and both over a sign of readiness.
func (j *judge) combine(conditions, words, counts finding) Result {
	for _, f := range []finding{conditions, words, counts} {
		if f.meaning == bad {
			return Result{Answer: Failed, Message: f.text, HasReason: true, By: f.by}
		}
	}
	if counts.meaning == busy && conditions.decides {
		counts.meaning = unknown // the controller knows how many it needs
	}
	for _, f := range []finding{conditions, words, counts} {
		if f.meaning == paused || f.meaning == busy {
			if words.meaning != unknown || counts.meaning == busy { // the status says more than the condition
				f.failsAt = time.Time{}
			}
			if !f.failsAt.IsZero() && !j.now.Before(f.failsAt) {
				return Result{Answer: Failed, Message: f.text + ", for more than " + patienceText, HasReason: true, By: f.by}
			}
			return Result{Answer: InProgress, Message: f.text, HasReason: f.reason, By: f.by, FailsAt: f.failsAt}
		}
	}
	for _, f := range []finding{conditions, words, counts} {
		if f.meaning == good {
			if f.by == conditions.by || !j.hasUnknownState && (len(j.unrecognized()) == 0 || words.meaning == good) {
				return Result{Answer: Ready, By: f.by}
			}
		}
	}
	return Result{Message: j.missing(), By: "no rule", Hint: j.hint()}
}

// unrecognized returns the types of the conditions that dwatch does not know, or that are not decisive.
func (j *judge) unrecognized() (types []string) {
	for _, c := range j.conditions {
		if c.role == noRole && !c.nested && (len(c.words) == 0 || !neutral.has(c.words[len(c.words)-1])) {
			types = append(types, c.kind)
		}
	}
	return types
}

// maxNamed is how many conditions a message names.
const maxNamed = 10

// missing says what keeps dwatch from an answer.
func (j *judge) missing() string {
	var types []string
	for _, c := range j.conditions {
		if len(types) == maxNamed {
			types = append(types, fmt.Sprintf("%d more", len(j.conditions)-maxNamed))
			break
		}
		types = append(types, c.kind)
	}
	switch len(types) {
	case 0:
		return "nothing in its status says whether it is ready"
	case 1:
		return "its status has the condition " + types[0] + ", and dwatch does not know whether that means ready"
	}
	return "its status has the conditions " + strings.Join(types[:len(types)-1], ", ") + " and " + types[len(types)-1] + ", and dwatch does not know which means ready"
}
