package readiness

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// byConditions returns what the conditions say.
func (j *judge) byConditions() finding {
	var worst finding  // of the conditions that are not as they should be
	var ready *finding // of the best positive condition
	take := func(f finding) {
		switch {
		case f.meaning > worst.meaning:
			worst = f
		case f.meaning == worst.meaning && f.failsAt.IsZero(): // the controller says that it is at work
			worst.failsAt = time.Time{}
		}
	}
	main := j.main()
	whole := main != nil && main.status == "True" && !main.stale
	goods, unsure := 0, 0
	for i := range j.conditions {
		c := &j.conditions[i]
		f := j.condition(c, whole, main)
		f.by = "condition " + c.kind
		j.noteCondition(c, f)
		switch {
		case f.meaning == good:
			goods++
			if ready == nil || f.decides && !ready.decides || c == main {
				ready = &f
			}
		case f.meaning != unknown:
			take(f)
		case c.role == noRole && !(len(c.words) > 0 && neutral.has(c.words[len(c.words)-1])):
			unsure++
		}
	}
	if ready != nil && ready.decides {
		worst.failsAt = time.Time{}
	}
	switch {
	case worst.meaning != unknown:
		return worst
	case ready == nil:
		return finding{}
	case ready.decides || unsure == 0:
		return *ready
	}
	return finding{}
}

// main returns the condition Ready; nil if there is none.
func (j *judge) main() *condition {
	for i := range j.conditions {
		if c := &j.conditions[i]; !c.nested && c.role == summary && len(c.words) == 1 && c.words[0] == "ready" {
			return c
		}
	}
	return nil
}

// condition returns what one condition says. whole is true if Ready is True and current: then parts and steps do
// not count.
func (j *judge) condition(c *condition, whole bool, main *condition) finding {
	f := j.conditionMeaning(c, whole, main)
	if f.text == "" && f.meaning > good {
		f.text = c.text()
	}
	return f
}

func (j *judge) conditionMeaning(c *condition, whole bool, main *condition) finding {
	f := finding{reason: c.reason != "" || c.message != ""}
	isTrue, isFalse := c.status == "True", c.status == "False"
	switch c.role {
	case negative:
		switch {
		case isTrue && c.stale:
			return f
		case isTrue && whole && len(c.words) > 1: // about a part only
			return f
		case isTrue:
			f.meaning = bad
		}
		return f
	case pausedRole:
		if isTrue && !whole {
			f.meaning = paused
		}
		return f
	case activityRole:
		return j.activityFinding(c, f, whole)
	case summary:
	case positive, step:
		if whole {
			return f
		}
	default:
		if isFalse && !c.stale && !whole && meaningOf(c.reason, j.activity) == bad {
			f.meaning = bad // whatever its type means
		}
		return f
	}
	switch {
	case c.stale:
		if !whole {
			f.meaning, f.reason = busy, false
			f.text = j.staleText(c)
		}
	case isTrue && c.hasType(outcomes) && c.why(j.activity) == bad:
		f.meaning = bad
	case isTrue && c.nested && !c.isSummarized():
	case isTrue && !j.activity && slices.ContainsFunc(c.words, sideWords.has): // it says nothing about the rest
	case isTrue && (c.role == step && !c.nested || c.hasType(syncedTypes) && j.isManagedResource()):
	case isTrue:
		f.meaning = good
		f.decides = c == main || c.role == summary && c.hasType(decisive)
	case isFalse:
		f.meaning = busy
		why := c.why(j.activity)
		if c.role == positive && why == bad && meaningOf(c.reason, j.activity) != bad && !strings.EqualFold(c.severity, "error") && main != nil {
			why = busy // of a part only the reason counts: Ready sums up
		}
		switch {
		case why == bad || why == paused:
			f.meaning = why
		case why == unknown && c.hasType(verdictTypes):
			f.meaning = bad
		case why == unknown && j.mayFailByAge(c, main):
			f.failsAt = c.since.Add(patience)
		}
	case c.status == "Unknown":
		f.meaning = busy
	default: // a word of its own, such as Degraded
		f.meaning = busy
	}
	return f
}

// patience is how long a condition about the whole object may be False, without a word that says why, before the object has
// failed.
const patience, patienceText = time.Hour, "an hour"

// mayFailByAge reports whether an object fails if the condition stays False for longer than patience: it is about the
// object as a whole, and the object is neither an activity, which ends, nor paused.
func (j *judge) mayFailByAge(c, main *condition) bool {
	if c.since.IsZero() || c.nested || c.role != summary || main != nil && c != main || j.activity || c.hasType(outcomes) || c.hasType(endings) {
		return false
	}
	for _, name := range []string{"paused", "pause", "suspend", "suspended", "hibernate", "stopped"} {
		if isPaused, _ := j.spec[name].(bool); isPaused {
			return false
		}
	}
	return true
}

// sideWords in the type of a condition or in the name of a state say that it is not about the object itself.
var sideWords = wordSet(`backup backups restore snapshot snapshots validation cleanup finalizer finalizers delete deletion
	deleted removal teardown rollback scan upgrade license`)

// endings are the types of conditions that are False until the object has ended, which may take any time.
var endings = wordSet(`succeeded successful complete completed issued`)

var syncedTypes = wordSet(`synced`)

// isManagedResource reports whether the object follows the conventions of Crossplane: Synced is True long before
// Ready is.
func (j *judge) isManagedResource() bool {
	for _, name := range []string{"forProvider", "providerConfigRef", "compositionRef", "compositionSelector", "compositeDeletePolicy", "crossplane"} {
		if _, ok := j.spec[name]; ok {
			return true
		}
	}
	return j.status["atProvider"] != nil
}

// activityFinding returns what a condition such as Progressing says. Some are True for ever after, with a reason that
// says that the work is done.
func (j *judge) activityFinding(c *condition, f finding, whole bool) finding {
	reason := meaningOf(c.reason, j.activity)
	if reason == good && !slices.ContainsFunc(wordsOf(c.reason), func(w string) bool { return doneWords.has(w) }) {
		reason = unknown
	}
	if c.words[len(c.words)-1] == "running" && strings.EqualFold(c.reason, "Running") {
		reason = unknown
	}
	switch {
	case c.stale:
	case c.status == "False" && reason == bad && !whole:
		f.meaning = bad // ProgressDeadlineExceeded
	case c.status == "True" && reason == good && !slices.ContainsFunc(c.words, func(w string) bool { return w == "deleting" || w == "terminating" }):
		f.meaning = good
	case c.status == "True" && whole && slices.ContainsFunc(c.words, func(w string) bool { return w == "progressing" || w == "running" }):
	case c.status == "True":
		f.meaning = busy
	case c.status == "Unknown" && !whole:
		f.meaning = busy
	}
	return f
}

// doneWords in the reason of a condition such as Progressing say that the work is done. "ReplicaSetUpdated" does not.
var doneWords = wordSet(`available complete completed done successful successfully succeeded success finished ready running healthy
	uptodate idle`)

// verdictTypes are the types of conditions that are False only if something is wrong.
var verdictTypes = wordSet(`valid healthy accepted resolvedrefs refsresolved compliant deployable`)

func (j *judge) noteCondition(c *condition, f finding) {
	if !j.explain {
		return
	}
	says := saysOf(f.meaning)
	switch {
	case c.stale:
		says += ": it is about generation " + strconv.FormatInt(c.generation, 10)
	case f.meaning == unknown && c.role == noRole:
		says = "not recognized"
	case f.meaning == unknown:
		says = "does not count"
	}
	value := c.status
	if text := because(c.reason, c.message); text != "" {
		value += " (" + text + ")"
	}
	j.note(c.path+"["+c.kind+"]", value, says)
}

func saysOf(m meaning) string {
	return [...]string{"not recognized", "ready", "in progress", "paused", "failed"}[m]
}

// stateFields are the names of fields that hold the state of the whole object.
var stateFields = wordSet(`phase state status health healthstatus currentstatus currentstate overallstatus overallstate overallhealth
	healthstate statusphase statusstate clusterstate clusterstatus clusterphase printablestatus lastoperationstatus
	deploymentstatus deploymentstate result conclusion outcome readystatus syncstatus connectionstate connectionstatus rolloutstatus
	jobstatus runstatus runstate applicationstate currentphase stage lifecyclestate lifecyclestatus provisioningstate robustness`)

// stateFlags are the names of booleans that say that the whole object is ready.
var stateFlags = wordSet(`ready healthy available isready succeeded valid readytouse established provisioned initialized synced insync
	complete completed connected accepted compliant isvalid programmed pass passed applied active`)

// verdictFlags are booleans that are false only if something is wrong.
var verdictFlags = wordSet(`healthy valid isvalid accepted compliant pass passed`)

// failureFlags are the names of booleans that say that it failed.
var failureFlags = wordSet(`failed degraded stalled isfailed haserror haserrors unhealthy errored`)

// errorFields are the names of texts that exist only if something is wrong.
var errorFields = wordSet(`failurereason failuremessage errormessage error errorreason validationerror validationerrors errors error
	errmsg err lasterror lasterrormessage errordetails failurecause syncerror reconcileerror validationmessage problems`)

// words returns what the states in words, the flags and the texts of errors say.
func (j *judge) words() (worst finding) {
	take := func(path, value string, f finding) {
		j.note(path, value, saysOf(f.meaning))
		if f.meaning == unknown {
			return
		}
		if f.meaning != good {
			f.text, f.reason = j.stateText(path, value), true
		}
		f.by = path
		if f.meaning > worst.meaning {
			worst = f
		}
	}
	main := j.main()
	whole := main != nil && main.status == "True" && !main.stale
	for _, key := range j.keys {
		name := lower(key)
		switch value := j.status[key].(type) {
		case string:
			switch {
			case value == "":
			case errorFields.has(name):
				if !whole {
					take("status."+key, value, finding{meaning: bad})
				}
			case stateFields.has(name) || isStateName(key):
				f := j.state(value)
				if f.meaning == good && !stateFields.has(name) && !j.isOwnState(key) {
					f = finding{}
				}
				if stateFields.has(name) && f.meaning == unknown {
					j.hasUnknownState = true
				}
				if f.meaning != unknown || stateFields.has(name) {
					take("status."+key, value, f)
				}
			case stateFlags.has(name):
				take("status."+key, value, flag(value))
			}
		case bool:
			j.takeFlag(take, "status."+key, name, value)
		case []any:
			switch {
			case errorFields.has(name) && !whole:
				if text := firstText(value); text != "" {
					take("status."+key, text, finding{meaning: bad})
				}
			case !whole && !isHistory(key):
				j.listWords(take, "status."+key, value)
			}
		case map[string]any:
			switch message := textOf(value["message"]); {
			case errorFields.has(name) && message != "" && !whole:
				take("status."+key+".message", message, finding{meaning: bad})
			case name != "conditions" && !isHistory(key) && !isIntent(key):
				j.nestedWords(take, "status."+key, value, 2)
			}
		}
	}
	return worst
}

// firstText returns the first value of a list of errors that is not empty, as text.
func firstText(list []any) string {
	for _, one := range list {
		if text, isText := one.(string); one != nil && (!isText || text != "") {
			return limited(one)
		}
	}
	return ""
}

// limited returns a value of a status as a text of bounded length.
func limited(value any) string {
	text := textOf(value)
	if _, isText := value.(string); !isText {
		text = fmt.Sprint(value)
	}
	const limit = 1000
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

func (j *judge) takeFlag(take func(string, string, finding), path, name string, value bool) {
	switch {
	case verdictFlags.has(name) && !value:
		take(path, "false", finding{meaning: bad})
	case name == "initialized" && value: // a first step
	case stateFlags.has(name):
		take(path, strconv.FormatBool(value), flag(strconv.FormatBool(value)))
	case failureFlags.has(name) && value:
		take(path, "true", finding{meaning: bad})
	}
}

// nestedWords reads the states one level below the status: status.ceph.health. Of a map of statuses, such as
// status.statuses, it reads the states in each.
func (j *judge) nestedWords(take func(string, string, finding), path string, value map[string]any, depth int) {
	plural, isSide := strings.HasSuffix(strings.ToLower(path), "statuses"), slices.ContainsFunc(splitOf(path[len("status."):]), sideWords.has)
	for _, key := range sortedKeys(value) {
		switch one := value[key].(type) {
		case string:
			if stateFields.has(lower(key)) && one != "" {
				f := j.state(one)
				if f.meaning == good && isSide && !j.activity {
					f = finding{}
				}
				take(path+"."+key, one, f)
			}
		case map[string]any:
			if plural && depth > 0 {
				j.nestedWords(take, path+"."+key, one, depth-1)
			}
		}
	}
}

// listWords reads the states of the parts in a list. A part that failed, or is on its way, counts; that a part is
// ready says nothing about the object.
func (j *judge) listWords(take func(string, string, finding), path string, value []any) {
	for i, one := range value {
		m, ok := one.(map[string]any)
		if !ok {
			continue
		}
		for _, key := range sortedKeys(m) {
			text, ok := m[key].(string)
			if !ok || !stateFields.has(lower(key)) || strings.EqualFold(text, "unknown") {
				continue
			}
			if f := j.state(text); f.meaning == bad || f.meaning == busy {
				take(path+"["+strconv.Itoa(i)+"]."+key, text, f)
			}
		}
	}
}

// isHistory reports whether a field is about the past.
func isHistory(key string) bool {
	return slices.ContainsFunc(splitOf(key), func(w string) bool { return historyWords.has(w) })
}

var historyWords = wordSet(`history previous past last old older versions revisions backups events transitions timestamps conditions logs`)

// isIntent reports whether a field describes the desired state, not the actual one.
func isIntent(key string) bool {
	return slices.ContainsFunc(splitOf(key), intentWords.has)
}

var intentWords = wordSet(`desired target expected wanted requested initial goal spec template next`)

// isOwnState reports whether a field such as dbInstanceStatus is about the object, and not about a part: its name has a word
// of the kind's name, or none that names a part.
func (j *judge) isOwnState(key string) bool {
	words := splitOf(key)
	if isHistory(key) || isIntent(key) || !j.activity && slices.ContainsFunc(words, sideWords.has) {
		return false
	}
	kind := splitOf(j.kind)
	return slices.ContainsFunc(words, func(w string) bool { return generalNames.has(w) || slices.Contains(kind, w) })
}

// generalNames in the name of a state say that it is about the object as a whole.
var generalNames = wordSet(`overall current general summary resource object instance cluster service deployment application app db
	database node pool group replication reconcile reconciliation update ready readiness health`)

// isStateName reports whether a field is named like a state: "dbInstanceStatus".
func isStateName(key string) bool {
	words := splitOf(key)
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "phase", "state", "status", "health":
		return true
	}
	return false
}

// state returns what the word, or the short sentence, of a state says.
func (j *judge) state(value string) finding {
	words := wordsOf(value)
	if len(words) > 0 && words[0] == "health" {
		words = words[1:]
	}
	f := finding{meaning: meaningOfWords(words, j.activity)}
	if f.meaning == good && isPartial(value) {
		f.meaning = busy
	}
	if name := meanings()[strings.Join(words, "")]; name != unknown && len(words) > 1 {
		f.meaning = name // AtLatestKnown
	}
	f.decides = f.meaning == good
	return f
}

func (j *judge) stateText(path, value string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	text := name + " is " + value
	if errorFields.has(lower(name)) {
		text = value
	}
	for _, key := range []string{"message", "reason", "statusMessage", "stateMessage", "description", "errorMessage", "lastError"} {
		if m := textOf(j.status[key]); m != "" && m != value {
			return text + ": " + m
		}
	}
	return text
}

func flag(value string) finding {
	switch strings.ToLower(value) {
	case "true", "yes":
		return finding{meaning: good}
	case "false", "no":
		return finding{meaning: busy}
	}
	return finding{meaning: meaningOf(value, false)}
}

// fraction matches a count such as "2/3".
var fraction = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(\d+)\s*/\s*(\d+)\s*$`) })

// partial matches a number of a number, such as "0 of 3 ready" and "Up 1/3".
var partial = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+)\s*(?:/|of|out of)\s*(\d+)`) })

// isPartial reports whether a state says that there are fewer than wanted.
func isPartial(value string) bool {
	if !strings.ContainsAny(value, "0123456789") {
		return false
	}
	m := partial().FindStringSubmatch(value)
	return m != nil && integer(m[1]) < integer(m[2])
}

// have are the first words of counts that must reach the wanted number. want are the first words of that number.
var (
	have = []string{"ready", "available", "updated", "healthy", "current", "running"}
	want = []string{"desired", "total", "expected", "target", "requested"}
)

// counts returns what numbers such as readyReplicas say, in the status and one level below it.
func (j *judge) counts() finding {
	return j.countsBelow(j.countsIn(finding{}, "status", j.status), "status", j.status, 2)
}

// countsBelow looks into the maps, and the maps in the lists, below a part of the status.
func (j *judge) countsBelow(worst finding, path string, in map[string]any, depth int) finding {
	if depth == 0 {
		return worst
	}
	for _, key := range sortedKeys(in) {
		if key == "conditions" || isHistory(key) || isIntent(key) {
			continue
		}
		switch value := in[key].(type) {
		case map[string]any:
			worst = j.countsIn(worst, path+"."+key, value)
			worst = j.countsBelow(worst, path+"."+key, value, depth-1)
		case []any:
			for i, one := range value {
				if m, ok := one.(map[string]any); ok {
					worst = j.countsIn(worst, path+"."+key+"["+strconv.Itoa(i)+"]", m)
				}
			}
		}
	}
	return worst
}

func (j *judge) countsIn(worst finding, path string, in map[string]any) finding {
	for _, key := range sortedKeys(in) {
		if text, ok := in[key].(string); ok {
			if strings.IndexByte(text, '/') < 0 || len(text) > 16 {
				continue
			}
			if m := fraction().FindStringSubmatch(text); m != nil {
				is, _ := strconv.ParseInt(m[1], 10, 64)
				wanted, _ := strconv.ParseInt(m[2], 10, 64)
				worst = j.count(worst, path+"."+key, is, wanted, false, strings.Join(splitOf(key), " "))
			}
			continue
		}
		is, ok := number(in[key])
		if !ok {
			continue
		}
		words := splitOf(key)
		if len(words) < 2 || !slices.Contains(have, words[0]) {
			continue
		}
		if wanted, isExplicit, known := j.wanted(in, key[len(words[0]):], path == "status"); known {
			worst = j.count(worst, path+"."+key, is, wanted, isExplicit, strings.Join(words[1:], " ")+" "+words[0])
		}
	}
	return worst
}

// count adds a count. isExplicit is true if the spec says how many are wanted.
func (j *judge) count(worst finding, path string, is, wanted int64, isExplicit bool, what string) finding {
	if is < 0 || wanted < 0 || wanted == 0 && !isExplicit { // nothing says that none is wanted
		return worst
	}
	f := finding{meaning: good, by: path}
	if is < wanted || is > wanted && isExplicit {
		f.meaning = busy
		f.text = fmt.Sprintf("%d/%d %s", is, wanted, what)
	}
	j.note(path, fmt.Sprintf("%d of %d", is, wanted), saysOf(f.meaning))
	if f.meaning > worst.meaning {
		return f
	}
	return worst
}

// wanted returns how many of a unit such as "Replicas" there should be.
func (j *judge) wanted(in map[string]any, unit string, top bool) (n int64, isExplicit, known bool) {
	name := strings.ToLower(unit[:1]) + unit[1:]
	if top {
		for _, name := range []string{name, strings.TrimSuffix(name, "s"), "size"} {
			if n, ok := number(j.spec[name]); ok {
				return n, true, true
			}
		}
	}
	for _, prefix := range want {
		if n, ok := number(in[prefix+unit]); ok {
			return n, false, true
		}
	}
	n, known = number(in[name])
	return n, false, known
}
