package resume

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

func bucketName(k event.Key) []byte {
	name := fmt.Appendf(nil, "%s %s %s", k.Resource, k.Namespace, k.Name)
	if k.Cluster != "" {
		name = append([]byte(k.Cluster+"\x00"), name...)
	}
	return name
}

// about is what is written about a target itself.
type about struct {
	metav1.GroupVersionResource
	Cluster    string `json:"cluster,omitempty"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	Synced     bool   `json:"synced,omitempty"` // all that existed at the start has been reported
	// Shard is of what that is true.
	Shard event.Shard `json:"shard,omitzero"`
}

func describe(t event.Target) about {
	return about{
		GroupVersionResource: metav1.GroupVersionResource(t.Resource()),
		Cluster:              t.Cluster,
		Kind:                 t.Mapping.GroupVersionKind.Kind, Namespaced: t.Namespaced(),
		Namespace: t.Namespace, Name: t.Name,
	}
}

func (a about) target() event.Target {
	resource := schema.GroupVersionResource(a.GroupVersionResource)
	return event.Target{Cluster: a.Cluster, Mapping: event.NewMapping(resource, a.Kind, a.Namespaced), Namespace: a.Namespace, Name: a.Name}
}

// saved is one target in the file.
type saved struct {
	key   []byte
	about about
	// first is what the file gets about a target of which it had nothing, before anything is
	// reported.
	first about
	any   bool // it had objects when the file was opened, be it of other shards
}

var (
	aboutKey      = []byte("about")
	objectsBucket = []byte("objects")
)

// readSaved returns the targets in the file, and reads each of their objects.
func readSaved(tx *bolt.Tx) (map[event.Key]*saved, error) {
	found := map[event.Key]*saved{}
	targets := tx.Bucket(targetsBucket)
	if targets == nil {
		return found, nil
	}
	err := targets.ForEachBucket(func(key []byte) error {
		s := &saved{key: bytes.Clone(key)}
		b := targets.Bucket(key)
		if err := json.Unmarshal(b.Get(aboutKey), &s.about); err != nil {
			return damaged(err)
		}
		found[s.about.target().Key()] = s
		s.any = hasAny(b.Bucket(foreignBucket))
		return s.read(tx, func(event.ReportedObject) { s.any = true })
	})
	return found, err
}

func hasAny(b *bolt.Bucket) bool {
	if b == nil {
		return false
	}
	key, _ := b.Cursor().First()
	return key != nil
}

// read calls take with what was reported of each object of the target.
func (s *saved) read(tx *bolt.Tx, take func(event.ReportedObject)) error {
	objects := tx.Bucket(targetsBucket).Bucket(s.key).Bucket(objectsBucket)
	if objects == nil {
		return nil
	}
	return eachKey(objects, func(key, value []byte) error {
		namespace, name, isKey := decodeKey(key)
		e, isEntry := decodeEntry(value)
		if !isKey || !isEntry {
			return damaged(fmt.Sprintf("at %q", key))
		}
		e.each(namespace, name, take)
		return nil
	})
}

// Past is an event.HistoryFunc. What the file has about targets that t covers becomes part of t.
func (f *File) History(t event.Target, take func(event.ReportedObject)) (complete bool, err error) {
	if changes := f.takeOver(nil, t); len(changes) > 0 {
		if _, err := f.commit(commitment{reported: changes}); err != nil {
			return false, err
		}
	}
	s := f.saved[t.Key()]
	if s == nil {
		return false, nil
	}
	return s.about.Synced, f.view(func(tx *bolt.Tx) error { return s.read(tx, take) })
}

// Orphans returns the targets at a cluster, empty if there is one, of which the file has objects, and
// nothing would be reported as they are not among present, in no order and with the mappings of the last run. One that is covered,
// by a target that is present or by another orphan, is part of that.
func (f *File) OrphanedTargets(cluster string, present []event.Target) []event.Target {
	here := map[event.Key]bool{}
	for _, t := range present {
		here[t.Key()] = true
	}
	var orphans []event.Target
	for key, s := range f.saved {
		if key.Cluster == cluster && s.any && !here[key] && !f.isCovered(key, here) {
			orphans = append(orphans, s.about.target())
		}
	}
	return orphans
}

// isCovered reports whether the target of this key is covered by one that is here, or of which the
// file has objects.
func (f *File) isCovered(key event.Key, here map[event.Key]bool) bool {
	wide := event.Key{Cluster: key.Cluster, Resource: key.Resource, Namespace: key.Namespace}
	s := f.saved[wide]
	return wide.Covers(key) && (here[wide] || s != nil && s.any)
}

// state is one state of an object: "UID RESOURCEVERSION", or "UID RESOURCEVERSION DIGESTS".
type state string

func newState(uid types.UID, resourceVersion, digests string) state {
	s := string(uid) + " " + resourceVersion
	if digests != "" {
		s += " " + digests
	}
	return state(s)
}

func (s state) uid() string {
	uid, _, _ := strings.Cut(string(s), " ")
	return uid
}

func (s state) split() (uid, resourceVersion string) {
	uid, rest, _ := strings.Cut(string(s), " ")
	resourceVersion, _, _ = strings.Cut(rest, " ")
	return uid, resourceVersion
}

// entry is what the file has under one name. There is one state, and it was reported; or unsure is
// set: the process was about to report the first one as ADDED, and the deletion of all others.
// Whether it did, it could not note any more.
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
func (e entry) each(namespace, name string, take func(event.ReportedObject)) {
	for _, s := range slices.Backward(e.states) {
		uid, rest, _ := strings.Cut(string(s), " ")
		resourceVersion, digests, _ := strings.Cut(rest, " ")
		take(event.ReportedObject{
			Namespace: namespace, Name: name,
			UID: types.UID(uid), ResourceVersion: resourceVersion, Digests: digests, Unconfirmed: e.unsure,
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

func encodeKey(namespace, name string) []byte { return []byte(namespace + "/" + name) }

func decodeKey(key []byte) (namespace, name string, ok bool) {
	before, after, found := bytes.Cut(key, []byte("/"))
	return string(before), string(after), found && len(after) > 0
}
