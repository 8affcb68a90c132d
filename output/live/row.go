package live

import (
	"strings"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// rank orders rows by state: failed objects come first.
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

// row shows the current object with a name, or the last one that had it.
type row struct {
	// State is the last state that is not a deletion.
	*inventory.State
	// predecessor is the previous object with this name, if its row was still shown when this one was created.
	predecessor *inventory.Entry
	cells       []string
	rank        rank

	// at is the time of the latest event, zero if there was none since the start. sign is its sign.
	at   time.Time
	sign byte
	// added is when the object was created, zero if it existed at the start.
	added time.Time
	// changed has the time of the latest change of each cell. nil means that none changed recently.
	changed []time.Time
	deleted bool // the object is deleted; the row stays for a while

	sorted          rank                // rank by which the row is sorted; a row that becomes ready keeps its position for a while
	shown           bool                // the row is in the order of its section
	frozenHistories []inventory.History // histories in a paused table
}

// name returns the row's key within its section.
func (r *row) name() name { return name{r.Entry.Cluster, r.Entry.Namespace, r.Entry.Name} }

// stateText describes the state of an object that is not ready. It is "" for ready objects.
func (r *row) stateText() string {
	if r.rank == ready && !r.isUnknown() {
		return ""
	}
	why := r.Status.String()
	if message := strings.Join(strings.Fields(r.Message), " "); message != "" {
		why += ": " + message
	}
	return output.EscapeLine(why)
}

// shortState is the short form of stateText.
func (r *row) shortState() string {
	if r.isUnknown() {
		return kstatus.UnknownStatus.String()
	}
	return output.EscapeLine(r.ShortReason())
}

// isUnknown reports whether the object has a status that does not show whether it is ready. This is not a problem.
func (r *row) isUnknown() bool {
	return r.Status == kstatus.UnknownStatus && r.EventType == "" && r.Message != ""
}

// Durations of highlights.
const (
	brightFor = 2 * time.Second
	fadingFor = 6 * time.Second
	// deletedFor is how long a deleted object is shown.
	deletedFor = 8 * time.Second
)

// freshness returns how strongly a change at a time is highlighted: 2 strongly, 1 weakly, 0 not at all.
func freshness(at, now time.Time) int {
	switch age := now.Sub(at); {
	case at.IsZero() || age >= fadingFor:
		return 0
	case age >= brightFor:
		return 1
	default:
		return 2
	}
}

// isStable reports whether only the age of the row still changes as time passes. For a deleted object it reports whether
// its row can be removed.
func (r *row) isStable(now time.Time) bool {
	if r.deleted {
		return now.Sub(r.at) >= deletedFor
	}
	return now.Sub(r.at) >= fadingFor
}

func (r *row) take(s *inventory.State, cells []string) {
	isNew, again, before := r.State == nil, r.deleted, r.cells
	r.State, r.cells, r.rank, r.deleted = s, cells, rankOf(s), false
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
		if freshness(r.added, s.Time) == 0 { // a new object usually changes at once and keeps its sign
			r.sign = '~'
		}
		r.markChanged(before)
	}
	r.at = s.Time
}

func (r *row) markChanged(before []string) {
	for i := range min(len(before), len(r.cells)) {
		if inventory.CellChanged(before[i], r.cells[i]) {
			if len(r.changed) != len(r.cells) {
				r.changed = make([]time.Time, len(r.cells))
			}
			r.changed[i] = r.Time
		}
	}
}

// markDeleted marks the object of the row as deleted.
func (r *row) markDeleted(e *event.Event) {
	r.deleted, r.sign, r.at, r.changed = true, '-', e.Time, nil
}
