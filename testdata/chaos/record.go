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

// place is where an object lives under its name.
type place struct{ kind, namespace, name string }

// record is what one dwatch has printed of one cluster. It checks each line as it comes.
type record struct {
	// selects: objects may leave the selection and come back under the same UID.
	selects bool
	// apart: objects of one name come in any order, as those of a topic of Kafka, where each is known by its UID.
	apart bool
	// shared: several processes tell it, each of objects that are its own.
	shared bool

	mu      sync.Mutex
	changed chan struct{} // closed at each line
	fault   string        // the present one, or the last
	lines   int
	marks   int
	// objects are all that were ever printed.
	objects map[types.UID]*history
	// living is the UID of what was last printed under a name, unless deleted.
	living map[place]types.UID
	// last is when a line of a kind in a namespace came.
	last  map[place]time.Time
	kills int
	// repeated are lines that came again after a kill, as they may, or messages that
	// came again.
	repeated int
	// delivered are the states that a receiver has taken, and from which runs; ids are
	// their messages. Of what is printed there is none.
	delivered map[state]map[string]bool
	ids       map[string]bool
	// by is the run that has delivered at last, and at when; changes is how often it was another replica's, and soonest the shortest
	// time that it took.
	by      string
	at      time.Time
	changes int
	soonest time.Duration
	wrong   []problem
}

// history is what was printed of one object.
type history struct {
	place   place
	version string
	kind    string // of the last event
	object  json.RawMessage
	at      time.Time
	by      string // which process
	// loose: printed in the last moments before a kill: the next line may repeat
	// what was printed then.
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

// take notes a line of a process, as parseLine has read it.
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

// receive notes a message that a receiver has got from a run of dwatch, as parseLine has read
// it. It may come again at any time; for the first time each comes in the order of its object.
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

// checkLocked compares a line with the one before of the same object.
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

// cutOffLocked reports whether the line before one may be missing: a run was killed that was about to
// print it. Whether it did the next run can't know, so it says that the object is gone.
func (r *record) cutOffLocked(l *line) bool {
	return r.kills > 0 && l.Type == "DELETED" && l.Unknown
}

// repeatLocked checks the first line of an object after a kill, shortly before
// which it had been printed: it may tell the same once more, but nothing older.
// Only of what was gone meanwhile it shows what it knew before those moments.
func (r *record) repeatLocked(before *history, l *line) {
	if order := compare(l.meta.ResourceVersion, before.version); order < 0 && l.Unknown {
		r.repeated++
	} else if order < 0 {
		r.faultLocked(disordered, "%s after a kill, and after %s %s", l, before.kind, before.version)
	} else if order == 0 {
		r.repeated++
	}
}

// killed notes that a process was killed: what it printed since then may come again.
func (r *record) killed(by string, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kills++
	if len(r.ids) > 0 {
		return // what comes again after it is known by its id
	}
	for _, h := range r.objects {
		h.loose = h.loose || h.by == by && h.at.After(since)
	}
}

func (r *record) faultLocked(f fail, format string, args ...any) {
	r.wrong = append(r.wrong, problem{f, fmt.Sprintf("since %s: ", r.fault) + fmt.Sprintf(format, args...)})
}

// meets notes which fault is coming, to tell of it with what goes wrong.
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

// await returns when done does, which is asked after each line, or false when
// nothing came of it within the time.
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
