package live

import (
	"strings"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// rank is how much an object is in need of a look; those that need one come first.
type rank uint8

const (
	failed rank = iota
	unready
	ready
)

func rankOf(s *inventory.State) rank {
	switch s.Status {
	case kstatus.CurrentStatus, kstatus.UnknownStatus:
		return ready
	case kstatus.FailedStatus:
		return failed
	}
	return unready
}

// row is what the screen shows of a name: of the object that has it, or had it last.
type row struct {
	// State is the last one that is not of a deletion.
	*inventory.State
	// earlier is the object that had the name before, if its row was still there; nil: none.
	earlier *inventory.Entry
	cells   []string
	rank    rank

	// at is when the last event of it came, zero if none did since the start, and sign what it was.
	at   time.Time
	sign byte
	// added is when the object came, zero if it was there at the start.
	added time.Time
	// changed has when each cell changed last; nil: none did.
	changed []time.Time
	gone    bool // it is deleted, and shown for a while

	sorted rank                // by which it stands: what becomes ready stays for a while
	shown  bool                // it stands in the order of its section
	past   []inventory.History // of it, in a table that is paused
}

// name is that of a row within its section.
func (r *row) name() name { return name{r.Entry.Cluster, r.Entry.Namespace, r.Entry.Name} }

// why is the state of an object that is not ready, in words.
func (r *row) why() string {
	if r.rank == ready && !r.isUnknown() {
		return ""
	}
	why := r.Status.String()
	if message := strings.Join(strings.Fields(r.Message), " "); message != "" {
		why += ": " + message
	}
	return output.EscapeLine(why)
}

// short is the shortest form of why.
func (r *row) short() string {
	if r.isUnknown() {
		return kstatus.UnknownStatus.String()
	}
	return output.EscapeLine(r.ShortReason())
}

// isUnknown reports whether the object has a status without evidence of its state. It is no problem.
func (r *row) isUnknown() bool {
	return r.Status == kstatus.UnknownStatus && r.EventType == "" && r.Message != ""
}

// How long what has changed stands out, and how.
const (
	bright = 2 * time.Second
	fading = 6 * time.Second
	// linger is how long a deleted object is shown.
	linger = 8 * time.Second
)

// freshness is how much something stands out that changed: 2 much, 1 a little, 0 not any more.
func freshness(at, now time.Time) int {
	switch age := now.Sub(at); {
	case at.IsZero() || age >= fading:
		return 0
	case age >= bright:
		return 1
	default:
		return 2
	}
}

// settled reports whether nothing about the row changes by itself any more, but its age.
func (r *row) settled(now time.Time) bool {
	if r.gone {
		return now.Sub(r.at) >= linger
	}
	return now.Sub(r.at) >= fading && !now.Before(r.ClearsAt())
}

func (r *row) take(s *inventory.State, cells []string) {
	isNew, again, before := r.State == nil, r.gone, r.cells
	r.State, r.cells, r.rank, r.gone = s, cells, rankOf(s), false
	if isNew {
		r.sorted = r.rank
	}
	r.sorted = min(r.sorted, r.rank)
	switch {
	case isNew && s.Initial:
		return
	case isNew || again:
		r.sign, r.added, r.changed = '+', s.Time, nil
	default:
		if freshness(r.added, s.Time) == 0 { // what is new changes at once, and stays new
			r.sign = '~'
		}
		r.mark(before)
	}
	r.at = s.Time
}

func (r *row) mark(before []string) {
	for i := range min(len(before), len(r.cells)) {
		if inventory.CellChanged(before[i], r.cells[i]) {
			if len(r.changed) != len(r.cells) {
				r.changed = make([]time.Time, len(r.cells))
			}
			r.changed[i] = r.Time
		}
	}
}

// leave makes the row that of an object which is deleted.
func (r *row) leave(e *event.Event) { r.gone, r.sign, r.at, r.changed = true, '-', e.Time, nil }
