package live

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
)

// rank is how much an object is in need of a look; those that need one come first.
type rank uint8

const (
	failed rank = iota
	unready
	ready
)

// row is an object, as it is or was last.
type row struct {
	namespace, name string
	object          event.Object // its content is packed
	cells           []string
	created         time.Time // zero: not known
	made            time.Time // when the server made the cells
	rank            rank
	// why is the state of an object that is not ready, in words.
	why string

	// at is when the last event of it came, zero if none did since the start, and sign
	// what that was.
	at   time.Time
	sign byte
	// added is when the object came, zero if it was there at the start.
	added time.Time
	// changed has when each cell changed last; nil: none did.
	changed []time.Time
	// gone: it is deleted, and shown for a while.
	gone bool

	// sorted is the rank by which it stands where it does: what becomes ready stays in
	// its place for a while.
	sorted rank
	// shown: it stands in the order of its section.
	shown bool
	history
}

// How long what has changed stands out, and how.
const (
	bright = 2 * time.Second
	fading = 6 * time.Second
	// linger is how long a deleted object is shown.
	linger = 8 * time.Second
)

// freshness is how much something stands out that changed some time ago: 2 much, 1 a
// little, 0 not any more.
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
	return now.Sub(r.at) >= fading
}

// update is what an event makes of a row, worked out before the store is locked.
type update struct {
	event *event.Event
	// leaves: the object is none any more of those that are shown.
	leaves  bool
	object  event.Object // packed
	size    int          // of what is packed
	cells   []string
	columns []output.Column
	created time.Time
	rank    rank
	why     string
}

// judge says in what state an object is.
func (u *update) judge(o event.Object) error {
	before, after := event.CutManagedFields(o.Raw()) // half of the object, of which no state is made
	decoded := &unstructured.Unstructured{}
	if err := decoded.UnmarshalJSON([]byte(before + after)); err != nil {
		return fmt.Errorf("decode an object: %w", err)
	}
	u.created = decoded.GetCreationTimestamp().Time
	word, message := status.Of(decoded)
	u.rank = ready
	switch word {
	case kstatus.CurrentStatus, kstatus.UnknownStatus:
		return nil
	case kstatus.FailedStatus:
		u.rank = failed
	default:
		u.rank = unready
	}
	u.why = word.String()
	if message = strings.Join(strings.Fields(message), " "); message != "" {
		u.why += ": " + message
	}
	u.why = output.Line(u.why)
	return nil
}

// packed is the content of an object in less memory.
type packed []byte

// pack returns the object with its content packed, and the size of that.
func pack(o event.Object, scratch *[]byte) (event.Object, int) {
	*scratch = s2.Encode((*scratch)[:cap(*scratch)], []byte(o.Raw()))
	return event.NewKept(o.Identity, packed(bytes.Clone(*scratch))), len(*scratch)
}

// Content implements event.Kept.
func (p packed) Content() string {
	content, err := s2.Decode(nil, p)
	if err != nil {
		panic(err) // it was packed here
	}
	return string(content)
}

// cellChanged reports whether a cell has changed by more than the time that passes.
func cellChanged(before, now string) bool {
	if before == now {
		return false
	}
	before, wasAgo := cutAgo(before)
	now, isAgo := cutAgo(now)
	if wasAgo && isAgo {
		return before != now
	}
	return !isDuration(before) || !isDuration(now)
}

// cutAgo cuts from a cell such as "3 (5m ago)" when that was.
func cutAgo(cell string) (string, bool) {
	if i := strings.LastIndex(cell, " ("); i > 0 && strings.HasSuffix(cell, " ago)") {
		return cell[:i], true
	}
	return cell, false
}

// isDuration reports whether a cell is one as kubectl writes them, such as 3d4h.
func isDuration(cell string) bool {
	digits := 0
	for _, c := range []byte(cell) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case digits > 0 && strings.IndexByte("smhdy", c) >= 0:
			digits = 0
		default:
			return false
		}
	}
	return cell != "" && digits == 0
}
