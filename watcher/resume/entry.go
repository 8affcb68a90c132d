package resume

import (
	"bytes"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// state is one state of an object: "UID RESOURCEVERSION".
type state string

func newState(uid types.UID, resourceVersion string) state {
	return state(string(uid) + " " + resourceVersion)
}

func (s state) uid() string {
	uid, _, _ := strings.Cut(string(s), " ")
	return uid
}

// entry is what the file has under one name. There is one state, and it was
// reported; or unsure is set: the process was about to report the first one as ADDED,
// and the deletion of all others. Whether it did, it could not note any more.
type entry struct {
	unsure bool
	states []state
}

// announce: s is about to be reported as ADDED.
func (e entry) announce(s state) entry {
	return entry{unsure: true, states: append([]state{s}, e.without(s.uid())...)}
}

// delete: the deletion of the object with this UID has been reported.
func (e entry) delete(uid string) entry {
	return entry{unsure: e.unsure, states: e.without(uid)}
}

// takeOver adds what was reported before e, of another target. Where e is sure, that is in it.
func (e entry) takeOver(older entry) entry {
	switch {
	case len(e.states) == 0:
		return older
	case !e.unsure:
		return e
	}
	for _, s := range e.states {
		older.states = older.without(s.uid())
	}
	return entry{unsure: true, states: append(e.states, older.states...)}
}

func (e entry) without(uid string) []state {
	return slices.DeleteFunc(slices.Clone(e.states), func(s state) bool { return s.uid() == uid })
}

// each calls take with each state, the oldest first.
func (e entry) each(namespace, name string, take func(event.Reported)) {
	for _, s := range slices.Backward(e.states) {
		uid, resourceVersion, _ := strings.Cut(string(s), " ")
		take(event.Reported{
			Namespace: namespace, Name: name,
			UID: types.UID(uid), ResourceVersion: resourceVersion, Unsure: e.unsure,
		})
	}
}

// An entry is written as its states, a line each; behind a question mark if it is unsure.
const unsureMark = "?"

func (e entry) encode() []byte {
	var text []byte
	if e.unsure {
		text = append(text, unsureMark...)
	}
	for i, s := range e.states {
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(text, s...)
	}
	return text
}

// decodeEntry reads an entry; nil has no states.
func decodeEntry(value []byte) (entry, bool) {
	if value == nil {
		return entry{}, true
	}
	text, unsure := strings.CutPrefix(string(value), unsureMark)
	e := entry{unsure: unsure}
	for s := range strings.SplitSeq(text, "\n") {
		if !strings.Contains(s, " ") {
			return entry{}, false
		}
		e.states = append(e.states, state(s))
	}
	return e, unsure || len(e.states) == 1
}

// A key is NAMESPACE/NAME.

func encodeKey(namespace, name string) []byte { return []byte(namespace + "/" + name) }

func decodeKey(key []byte) (namespace, name string, ok bool) {
	before, after, found := bytes.Cut(key, []byte("/"))
	return string(before), string(after), found && len(after) > 0
}
