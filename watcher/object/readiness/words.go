package readiness

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// meaning is what a word says about the state of an object.
type meaning int

const (
	unknown meaning = iota
	// good words say that the object is ready, or has completed.
	good
	// busy words say that the object is on its way.
	busy
	// paused words say that the controller does not work on the object, on purpose.
	paused
	// bad words say that the object failed.
	bad
)

// vocabulary is the table of words. A state or a reason is split into its words: "CreateFailed", "create_failed" and
// "Create failed" are all "create failed". Words that can be bad, busy or good win in this order.
//
// docs/reference/readiness-rules.md shows this table. A test compares them.
var vocabulary = []struct {
	meaning meaning
	words   string
}{
	{bad, `abnormal abort aborted absent backoff bad blocked broken canceled cancelled cannot cant conflict conflicted
		conflicting conflicts corrupt corrupted crash crashed crashing crashloopbackoff critical dead deadlocked
		declined degraded denied died disallowed disconnected down duplicate duplicated err erroneous error errored
		errors evicted exceeded exception exhausted expired fail failed failing fails failure failures fatal fault
		faulted faulty forbidden halted ignored illegal impossible incompatible inconsistent incorrect inoperative
		insufficient invalid killed lost malformed malfunction misconfigured mismatch mismatched missing nonexistent
		notfound offline oom oomkilled orphan orphaned overdue panic prohibited red refused reject rejected revoked
		stalled stuck terminal throttled throwable timedout timeout unable unauthenticated unauthorized undeployable
		unexpected unhealthy unknownhost unmet unreachable unrecoverable unresolvable unresolved unresponsive
		unschedulable unserviceable unstable unsuccessful unsuccessfully unsupported unusable violated violation warn warning wrong`},
	{paused, `cordoned disabled hibernated hibernating inactive paused pausing stopped stopping suspend suspended suspending`},
	{busy, `adding allocating analyzing applying assigning attaching attempting awaiting backing binding booting
		bootstrapping building calculating canceling changing checking cleaning cloning completing configuring
		connecting converging converting copying creating decommissioning deferred delayed deleting deploying
		deprovisioning detaching determining discovering downloading draining enabling evaluating executing expanding
		exporting failover fetching finalizing finishing generating growing importing inconclusive initialising
		initializing incomplete inprogress inspecting installing issuing joining launching loading locating maintenance migrating
		modifying moving new notready notstarted ongoing partial partially pending performing planned planning preparing
		pretesting processing progress progressing promoting propagating provisioning publishing pulling pushing queued
		queueing queuing rebalancing rebooting rebuilding receiving reconciling reconfiguring recovering recreating
		refreshing registering reloading removing renewing replacing replicating requesting requeued resetting resizing
		resolving restarting restoring retry retrying rolling rollingback rollout scaling scanning scheduling seeding
		shutting signing snapshotting staging started starting submitted submitting switching switchover synchronizing
		syncing terminated terminating testing transferring transitioning triggered unavailable unbound uninitialized
		uninstalling unpacking unprovisioned unready unsynced updating upgrading uploading validating verifying waiting
		warming yellow`},
	{good, `accepted achieved active admitted allocated applied approved assigned associated atlatestknown attached
		available balanced bound built complete completed compliant configured confirmed connected converged current
		delivered deployed enabled ensured established exists finished fulfilled generated granted green healthy idle
		imported initialised initialized installed insync issued joined launched listening loaded managed migrated
		mounted nominal normal ok okay online operational passed passing permitted populated processed programmed
		promoted propagated provisioned published reachable ready reconciled registered released replicated resolved
		restored retrieved rolledout running satisfied scheduled serving signed stable succeed succeeded succeeds
		success successful successfully synced synchronised synchronized trusted up updated upgraded uploaded uptodate
		usable valid validated verified working`},
}

// negations turn a good word that follows into a busy one ("not ready"), or, if it is a permission or a verdict, into
// a bad one ("not allowed").
var (
	negations = wordSet(`not no non none never without isnt doesnt cannot wasnt`)
	// doubts say that something was so, will be so, or is nearly so.
	doubts = wordSet(`almost nearly hardly barely partly until unless soon eventually will would should was were less longer yet`)
	// endWords are about the end of an object, or about the way back. Of an object that is not an activity, they never mean
	// that it is ready.
	endWords = wordSet(`delete deleted deletes deletion destroy destroyed remove removed removal cleanup teardown terminate
		termination uninstall undeploy undeployed decommission decommissioned rollback rolledback reverted`)
	verdicts = wordSet(`accepted admitted allowed approved authorized compatible compliant controlled enough found healthy permitted
		possible properly resolved serving succeeded successful supported trusted valid working verified exist`)
)

// activities end. For a kind that is named after one, "Running" and "Active" mean that it is still at work. For
// all other kinds they mean that it is ready.
var activities = wordSet(`action analysis backup benchmark build check command copy delete download evaluation execution experiment export
	import instantiation job maintenance migration operation pipelinerun plan probe process query rebalance request restore rollback rollout run
	scan script seed session snapshot step switchover sync task test training transfer upgrade workflow`)

// onlyAlone are words that count only if there is no other: "New", but not "NewReplicaSetAvailable".
var onlyAlone = wordSet(`new current scheduled updated`)

// whileRunning are the words that mean busy for an activity, and good for anything else.
var whileRunning = wordSet(`running active started live online up launched working scheduled submitted created accepted bound
	assigned processed current`)

// meanings returns the vocabulary by word.
var meanings = sync.OnceValue(func() map[string]meaning {
	all := map[string]meaning{}
	for _, line := range vocabulary {
		for _, word := range strings.Fields(line.words) {
			all[word] = max(all[word], line.meaning)
		}
	}
	return all
})

// words is a set of words, which is built when it is first used: the start of dwatch pays nothing for it.
type words struct {
	text string
	once sync.Once
	all  map[string]bool
}

func wordSet(text string) *words { return &words{text: text} }

func (w *words) has(word string) bool {
	w.once.Do(func() {
		w.all = map[string]bool{}
		for _, word := range strings.Fields(w.text) {
			w.all[word] = true
		}
	})
	return w.all[word]
}

// maxWords bounds how much of a text is read. A reason or state has a few words, a message may have thousands.
const maxWords = 48

// split returns the words of a text in lower case. Words end at a space or sign and where the case changes.
func split(text string) (words []string) {
	runes := []rune(text)
	begin := 0
	flush := func(end int) {
		if end > begin {
			words = append(words, strings.ToLower(string(runes[begin:end])))
		}
	}
	for i, r := range runes {
		switch {
		case r == '\'' || r == '’':
			// "isn't" is one word: without the apostrophe, it is "isnt".
			runes[i] = '\''
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			begin = i + 1
		case i > begin && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])):
			flush(i)
			begin = i
		}
		if len(words) >= maxWords {
			return words
		}
	}
	flush(len(runes))
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, "'", "")
	}
	return words
}

// joined are pairs of words that count as one.
var joined = map[string]string{
	"in progress": "inprogress", "in sync": "synced", "out sync": "unsynced", "roll out": "rollout", "rolled out": "rolledout",
	"up date": "uptodate", "timed out": "timedout", "time out": "timeout", "back off": "backoff", "un healthy": "unhealthy",
	"shut down": "stopped", "shutting down": "stopping", "tear down": "deleting", "scale down": "scaling", "scaled down": "stopped", "scale up": "scaling", "scaling down": "scaling", "scaling up": "scaling",
	"already exists": "conflict", "too many": "exceeded", "not started": "pending", "in active": "inactive", "in complete": "incomplete", "rolled back": "rolledback", "clean up": "cleanup",
}

// textWords are the words of a text. They must not be changed.
type textWords struct {
	lower  string   // the text in lower case
	split  []string // its words
	joined []string // its words, with those that belong together as one
}

// wordsCache has the words of short texts. Names of fields, types of conditions, reasons and states repeat, and splitting
// them would take most of the time of a judgement.
var wordsCache = struct {
	sync.RWMutex
	texts map[string]*textWords
}{texts: map[string]*textWords{}}

// maxCached bounds the number of texts in wordsCache, and maxCachedText their length in bytes.
const maxCached, maxCachedText = 4096, 64

func readWords(text string) *textWords {
	if len(text) > maxCachedText {
		return newTextWords(text)
	}
	wordsCache.RLock()
	known := wordsCache.texts[text]
	wordsCache.RUnlock()
	if known != nil {
		return known
	}
	text = strings.Clone(text) // it may be a part of a large object
	words := newTextWords(text)
	wordsCache.Lock()
	defer wordsCache.Unlock()
	if len(wordsCache.texts) >= maxCached {
		clear(wordsCache.texts)
	}
	wordsCache.texts[text] = words
	return words
}

func newTextWords(text string) *textWords {
	words := split(text)
	return &textWords{strings.ToLower(text), words, joinWords(slices.Clone(words))}
}

// splitOf returns the words of a text.
func splitOf(text string) []string { return readWords(text).split }

// wordsOf returns the words of a text, with those that belong together as one.
func wordsOf(text string) []string { return readWords(text).joined }

// lower returns a short text in lower case.
func lower(text string) string { return readWords(text).lower }

// joinWords joins the words that belong together, in place.
func joinWords(words []string) []string {
	out := words[:0]
	for i := 0; i < len(words); i++ {
		switch {
		case i+2 < len(words) && words[i+1] == "to" && words[i] == "up" && words[i+2] == "date":
			out = append(out, "uptodate")
			i += 2
			continue
		case i+2 < len(words) && words[i+1] == "of" && words[i] == "out" && words[i+2] == "sync":
			out = append(out, "unsynced")
			i += 2
			continue
		case i+1 < len(words):
			if word := joined[words[i]+" "+words[i+1]]; word != "" {
				out = append(out, word)
				i++
				continue
			}
		}
		out = append(out, words[i])
	}
	return out
}

// meaningOf returns the worst meaning of the words in a text.
func meaningOf(text string, activity bool) meaning { return meaningOfWords(wordsOf(text), activity) }

func meaningOfWords(words []string, activity bool) (worst meaning) {
	for i, word := range words {
		if len(words) > 1 && onlyAlone.has(word) {
			continue
		}
		is := meanings()[word]
		if is == good && activity && whileRunning.has(word) {
			is = busy
		}
		switch {
		case i > 0 && negations.has(words[i-1]) && verdicts.has(word):
			is = bad
		case i > 0 && negations.has(words[i-1]) && is == bad: // "no errors"
			is = unknown
		case is == good && isDoubted(words, i, activity):
			is = busy
		}
		worst = max(worst, is)
	}
	return worst
}

// isDoubted reports whether another word of a text keeps the good word at i from meaning that the object is ready: "not yet
// ready", "ready soon", "delete complete".
func isDoubted(words []string, i int, activity bool) bool {
	return slices.ContainsFunc(words[max(i-3, 0):i], negations.has) || slices.ContainsFunc(words, doubts.has) ||
		!activity && slices.ContainsFunc(words, endWords.has)
}

// plainErrors are the words that make a message, which is free text, one about a failure.
var plainErrors = wordSet(`error errors failed failure fails cannot unable denied forbidden unauthorized invalid refused rejected unsupported
	exceeded conflict notfound mismatch missing panic timedout timeout crashloopbackoff unreachable nonexistent illegal`)

// meaningOfMessage returns what a message in plain words says. A message that begins with what the controller is
// doing ("Waiting for ...") is busy, whatever follows.
func meaningOfMessage(message string) meaning {
	words := wordsOf(message)
	if len(words) == 0 {
		return unknown
	}
	if meanings()[words[0]] == busy {
		return busy
	}
	is := unknown
	for i, word := range words {
		switch {
		case plainErrors.has(word) && !(i > 0 && negations.has(words[i-1])):
			return bad
		case (word == "found" || word == "exist" || word == "allowed" || word == "supported" || word == "permitted") && i > 0 && words[i-1] == "not":
			return bad
		case meanings()[word] == busy:
			is = busy
		}
	}
	return is
}
