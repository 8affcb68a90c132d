package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// line is an event as dwatch prints it.
type line struct {
	Type    string          `json:"type"`
	Cluster string          `json:"cluster"` // empty: there is one
	Initial bool            `json:"initial"`
	Unknown bool            `json:"finalStateUnknown"`
	Object  json.RawMessage `json:"object"`

	meta struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
}

// place identifies an object by kind, namespace and name.
type place struct{ kind, namespace, name string }

// record has the lines or messages of one dwatch about one cluster. It checks each on arrival.
type record struct {
	// selects reports that a label selector applies: objects may stop matching and match again with the same UID.
	selects bool
	// apart allows events of different objects with the same name in any order, as in a Kafka topic whose key is the UID.
	apart bool
	// shared reports that several shards fill the record, each with its own objects.
	shared bool

	mu      sync.Mutex
	changed chan struct{} // closed at each line
	fault   string        // current or last fault
	lines   int
	marks   int
	// objects has every object that was ever printed.
	objects map[types.UID]*history
	// living has the UID of the object that was last printed under a name, unless it was printed as deleted.
	living map[place]types.UID
	// last is when the last line of a kind in a namespace arrived. The name of its keys is empty.
	last  map[place]time.Time
	kills int
	// repeated counts the lines that were allowed to repeat others because of a kill, and repeated messages.
	repeated int
	// delivered has the states that a receiver has accepted, with the runs that sent them, and ids has the message ids. Both
	// are empty if dwatch prints to stdout.
	delivered map[state]map[string]bool
	ids       map[string]bool
	// by is the run that made the last delivery, and at is its time. changes counts how often another replica was next, and
	// soonest is the shortest time between the two deliveries.
	by      string
	at      time.Time
	changes int
	soonest time.Duration
	wrong   []problem
}

// history is the last printed line of one object.
type history struct {
	place   place
	version string
	kind    string // event type
	object  json.RawMessage
	at      time.Time
	by      string // process
	// loose reports that the line was printed shortly before a kill, so that the next line may repeat it.
	loose bool
}

type fail string

const (
	lost       fail = "lost"
	duplicated fail = "duplicated"
	disordered fail = "out of order"
	overlapped fail = "told by two shards"
)

type problem struct {
	fail
	text string
}

func newRecord(selects bool) *record {
	return &record{
		selects: selects, changed: make(chan struct{}),
		objects: map[types.UID]*history{}, living: map[place]types.UID{}, fault: "the start", last: map[place]time.Time{},
		delivered: map[state]map[string]bool{}, ids: map[string]bool{},
	}
}

// take adds a line of a process. l and err are the results of parseLine.
func (r *record) take(by string, text []byte, l *line, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeLineLocked(by, text, l, err)
}

func parseLine(text []byte) (*line, error) {
	var l line
	err := json.Unmarshal(text, &l)
	if err == nil && l.Object != nil {
		err = json.Unmarshal(l.Object, &l.meta)
	}
	return &l, err
}

func (r *record) takeLineLocked(by string, text []byte, l *line, err error) {
	r.lines++
	switch {
	case err != nil:
		r.faultLocked(disordered, "no event: %v: %.200q", err, text)
	case l.Object == nil:
		r.marks++
	default:
		r.takeLocked(by, l)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// receive adds a message of a run of dwatch that a receiver has accepted. l and err are the results of parseLine. Messages
// may be repeated at any time, but the first deliveries of an object's messages must be in order.
func (r *record) receive(run, id string, body []byte, l *line, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := processOf(run)
	if !r.shared {
		r.leadsLocked(run)
	}
	is := state{l.meta.UID, l.meta.ResourceVersion}
	if r.delivered[is] == nil {
		r.delivered[is] = map[string]bool{}
	}
	r.delivered[is][run] = true
	if want := path.Join(l.Cluster, string(is.uid), is.version, l.Type); id != want {
		r.faultLocked(disordered, "%s has the id %q, not %q", l, id, want)
	}
	if r.ids[id] {
		r.ownLocked(by, l)
		r.lines++
		r.repeated++
		return
	}
	r.ids[id] = true
	r.takeLineLocked(by, body, l, err)
}

// ownLocked checks that what a process tells of an object is not another one's to tell.
func (r *record) ownLocked(by string, l *line) {
	if before := r.objects[l.meta.UID]; r.shared && before != nil && before.by != by {
		r.faultLocked(overlapped, "%s by %s, after %s %s by %s", l, by, before.kind, before.version, before.by)
	}
}

// apart is how long after the last delivery of a replica another one may begin: it takes the Lease 3 s after that has to stop, and the
// receiver may read late.
const apart = time.Second

// leadsLocked notes that a run delivers.
func (r *record) leadsLocked(run string) {
	now := time.Now()
	if r.by != "" && processOf(run) != processOf(r.by) {
		took := now.Sub(r.at)
		if took < apart {
			r.faultLocked(disordered, "%s delivers %v after %s", run, took, r.by)
		}
		if r.changes++; r.changes == 1 || took < r.soonest {
			r.soonest = took
		}
	}
	r.by, r.at = run, now
}

func (r *record) takeLocked(by string, l *line) {
	r.ownLocked(by, l)
	at := place{l.meta.Kind, l.meta.Namespace, l.meta.Name}
	r.last[place{kind: at.kind, namespace: at.namespace}] = time.Now()
	before := r.objects[l.meta.UID]
	if before == nil {
		before = &history{place: at, kind: "DELETED"}
		if l.Type != "ADDED" && !r.cutOffLocked(l) {
			r.faultLocked(disordered, "%s before ADDED", l)
		}
	} else if before.loose {
		before.loose = false
		r.repeatLocked(before, l)
	} else {
		r.checkLocked(before, l)
	}
	if other, taken := r.living[at]; taken && other != l.meta.UID && !r.objects[other].loose && !r.apart {
		r.faultLocked(lost, "%s, while %s of that name was not deleted", l, other)
	}
	*before = history{place: at, version: l.meta.ResourceVersion, kind: l.Type, object: bytes.Clone(l.Object), at: time.Now(), by: by}
	r.objects[l.meta.UID] = before
	if l.Type == "DELETED" {
		if r.living[at] == l.meta.UID {
			delete(r.living, at)
		}
		before.object = nil
	} else {
		r.living[at] = l.meta.UID
	}
}

// checkLocked compares a line with the previous line of the same object.
func (r *record) checkLocked(before *history, l *line) {
	order := compare(l.meta.ResourceVersion, before.version)
	living := before.kind != "DELETED"
	switch {
	case order == 0 && l.Type == before.kind:
		r.faultLocked(duplicated, "%s", l)
	case order < 0:
		r.faultLocked(disordered, "%s after %s %s", l, before.kind, before.version)
	case l.Type == "DELETED" && !living && order > 0 && r.selects && r.cutOffLocked(l): // it matched again
	case l.Type == "DELETED" && !living, l.Type == "MODIFIED" && !living:
		r.faultLocked(disordered, "%s after it was deleted at %s", l, before.version)
	case l.Type == "ADDED" && living:
		r.faultLocked(disordered, "%s after %s %s", l, before.kind, before.version)
	case l.Type == "ADDED" && !r.selects:
		r.faultLocked(disordered, "%s after it was deleted at %s: that was not so", l, before.version)
	case l.Type != "DELETED" && order == 0:
		r.faultLocked(duplicated, "%s after %s", l, before.kind)
	}
}

// cutOffLocked reports whether the line before l may be missing, because a run was killed before it printed that line. The
// next run does not know whether the line was printed, so it reports the deletion with finalStateUnknown.
func (r *record) cutOffLocked(l *line) bool {
	return r.kills > 0 && l.Type == "DELETED" && l.Unknown
}

// repeatLocked checks the first line after a kill of an object that was printed shortly before the kill. It may repeat the
// last state, but not an older one. Only a deletion with finalStateUnknown may show an older state.
func (r *record) repeatLocked(before *history, l *line) {
	if order := compare(l.meta.ResourceVersion, before.version); order < 0 && l.Unknown {
		r.repeated++
	} else if order < 0 {
		r.faultLocked(disordered, "%s after a kill, and after %s %s", l, before.kind, before.version)
	} else if order == 0 {
		r.repeated++
	}
}

// killed notes that a process was killed. It may repeat the lines that it printed after since.
func (r *record) killed(by string, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kills++
	if len(r.ids) > 0 {
		return // messages have ids, by which receive recognizes repeats
	}
	for _, h := range r.objects {
		h.loose = h.loose || h.by == by && h.at.After(since)
	}
}

func (r *record) faultLocked(f fail, format string, args ...any) {
	r.wrong = append(r.wrong, problem{f, fmt.Sprintf("since %s: ", r.fault) + fmt.Sprintf(format, args...)})
}

// meets sets the current fault, which is part of the text of problems.
func (r *record) meets(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = fault
}

func (r *record) note(f fail, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faultLocked(f, format, args...)
}

func (l *line) String() string {
	unknown := ""
	if l.Unknown {
		unknown = ", final state unknown"
	}
	return fmt.Sprintf("%s %s %s/%s (%s at %s%s)", l.Type, l.meta.Kind, l.meta.Namespace, l.meta.Name, l.meta.UID, l.meta.ResourceVersion, unknown)
}

// await waits until done returns true. It calls done with r.mu held, first and after each line. It returns false after
// the time.
func (r *record) await(within time.Duration, done func() bool) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		changed, is := r.changed, done()
		r.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-changed:
		case <-deadline.C:
			return false
		}
	}
}

// compare orders resourceVersions, which are numbers on every server here.
func compare(a, b string) int {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		panic(fmt.Sprintf("resourceVersions %q, %q: %v", a, b, err))
	}
	return order
}
