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

// description is the stored description of a target.
type description struct {
	metav1.GroupVersionResource
	Cluster    string `json:"cluster,omitempty"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	Synced     bool   `json:"synced,omitempty"` // all initial objects have been reported
	// Shard is the shard for which Synced is true.
	Shard event.Shard `json:"shard,omitzero"`
}

func describe(t event.Target) description {
	return description{
		GroupVersionResource: metav1.GroupVersionResource(t.Resource()),
		Cluster:              t.Cluster,
		Kind:                 t.Mapping.GroupVersionKind.Kind, Namespaced: t.Namespaced(),
		Namespace: t.Namespace, Name: t.Name,
	}
}

func (a description) target() event.Target {
	resource := schema.GroupVersionResource(a.GroupVersionResource)
	return event.Target{Cluster: a.Cluster, Mapping: event.NewMapping(resource, a.Kind, a.Namespaced), Namespace: a.Namespace, Name: a.Name}
}

// savedTarget is a target in the file.
type savedTarget struct {
	key         []byte
	description description
	// initial is written for a new target together with its first object, before later changes of
	// description.
	initial    description
	hadObjects bool // when the file was opened, including foreign ones
}

var (
	descriptionKey = []byte("about")
	objectsBucket  = []byte("objects")
)

// readTargets returns the targets in the file. It decodes all their objects except foreign ones, which
// detects damage.
func readTargets(tx *bolt.Tx) (map[event.Key]*savedTarget, error) {
	found := map[event.Key]*savedTarget{}
	targets := tx.Bucket(targetsBucket)
	if targets == nil {
		return found, nil
	}
	err := targets.ForEachBucket(func(key []byte) error {
		s := &savedTarget{key: bytes.Clone(key)}
		b := targets.Bucket(key)
		if err := json.Unmarshal(b.Get(descriptionKey), &s.description); err != nil {
			return damaged(err)
		}
		found[s.description.target().Key()] = s
		s.hadObjects = hasAny(b.Bucket(foreignBucket))
		return s.read(tx, func(event.ReportedObject) { s.hadObjects = true })
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

// read calls yield for each reported object of the target.
func (s *savedTarget) read(tx *bolt.Tx, yield func(event.ReportedObject)) error {
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
		e.each(namespace, name, yield)
		return nil
	})
}

// History is an event.HistoryFunc. Targets in the file that t covers become part of t.
func (f *File) History(t event.Target, yield func(event.ReportedObject)) (complete bool, err error) {
	if changes := f.takeOver(nil, t); len(changes) > 0 {
		if _, err := f.commit(transaction{reported: changes}); err != nil {
			return false, err
		}
	}
	s := f.targets[t.Key()]
	if s == nil {
		return false, nil
	}
	return s.description.Synced, f.view(func(tx *bolt.Tx) error { return s.read(tx, yield) })
}

// OrphanedTargets returns the targets of a cluster for which the file has objects but that are not
// in present, in any order and with the mappings of the last run. Without them in a run, deletions
// of their objects would not be reported. A target that is covered by one of present or by another
// orphan is omitted. cluster is empty in a file for one cluster.
func (f *File) OrphanedTargets(cluster string, present []event.Target) []event.Target {
	isPresent := map[event.Key]bool{}
	for _, t := range present {
		isPresent[t.Key()] = true
	}
	var orphans []event.Target
	for key, s := range f.targets {
		if key.Cluster == cluster && s.hadObjects && !isPresent[key] && !f.isCovered(key, isPresent) {
			orphans = append(orphans, s.description.target())
		}
	}
	return orphans
}

// isCovered reports whether a target in present, or one with objects in the file, covers key.
func (f *File) isCovered(key event.Key, isPresent map[event.Key]bool) bool {
	wide := event.Key{Cluster: key.Cluster, Resource: key.Resource, Namespace: key.Namespace}
	s := f.targets[wide]
	return wide.Covers(key) && (isPresent[wide] || s != nil && s.hadObjects)
}

// state is one state of an object: "UID RESOURCEVERSION" or "UID RESOURCEVERSION DIGESTS".
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

// entry contains the states that the file has for one name. Usually that is one, which was
// reported. If unconfirmed is true, the process was about to report the first state as ADDED, and
// the deletions of all others. It did not record whether it did.
type entry struct {
	unconfirmed bool
	states      []state
}

// announce returns e before s is reported as ADDED.
func (e entry) announce(s state) entry {
	return entry{unconfirmed: true, states: append([]state{s}, e.without(s.uid())...)}
}

// delete returns e after the deletion of the object with this UID was reported.
func (e entry) delete(uid string) entry {
	return entry{unconfirmed: e.unconfirmed, states: e.without(uid)}
}

// takeOver returns e with the states of older, which another target reported before. If e is
// confirmed, it already reflects them.
func (e entry) takeOver(older entry) entry {
	switch {
	case len(e.states) == 0:
		return older
	case !e.unconfirmed:
		return e
	}
	for _, s := range e.states {
		older.states = older.without(s.uid())
	}
	return entry{unconfirmed: true, states: append(e.states, older.states...)}
}

func (e entry) without(uid string) []state {
	return slices.DeleteFunc(slices.Clone(e.states), func(s state) bool { return s.uid() == uid })
}

// each calls yield with each state, oldest first.
func (e entry) each(namespace, name string, yield func(event.ReportedObject)) {
	for _, s := range slices.Backward(e.states) {
		uid, rest, _ := strings.Cut(string(s), " ")
		resourceVersion, digests, _ := strings.Cut(rest, " ")
		yield(event.ReportedObject{
			Namespace: namespace, Name: name,
			UID: types.UID(uid), ResourceVersion: resourceVersion, Digests: digests, Unconfirmed: e.unconfirmed,
		})
	}
}

// An entry is encoded as its states, one per line, with a leading question mark if it is
// unconfirmed.
const unconfirmedMark = "?"

func (e entry) encode() []byte {
	var text []byte
	if e.unconfirmed {
		text = append(text, unconfirmedMark...)
	}
	for i, s := range e.states {
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(text, s...)
	}
	return text
}

// decodeEntry decodes an entry. A nil value has no states.
func decodeEntry(value []byte) (entry, bool) {
	if value == nil {
		return entry{}, true
	}
	text, unconfirmed := strings.CutPrefix(string(value), unconfirmedMark)
	e := entry{unconfirmed: unconfirmed}
	for s := range strings.SplitSeq(text, "\n") {
		if !strings.Contains(s, " ") {
			return entry{}, false
		}
		e.states = append(e.states, state(s))
	}
	return e, unconfirmed || len(e.states) == 1
}

func encodeKey(namespace, name string) []byte { return []byte(namespace + "/" + name) }

func decodeKey(key []byte) (namespace, name string, ok bool) {
	before, after, found := bytes.Cut(key, []byte("/"))
	return string(before), string(after), found && len(after) > 0
}
