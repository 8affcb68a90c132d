package page

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/klauspost/compress/s2"

	"dwatch/watcher/event"
)

// record is what is held of one object.
type record struct {
	identity event.Identity
	row      row
	// encoded is row, encoded.
	encoded []byte
	line    line
	packed  []byte
	// past are the last changes, and pastMore is how many are no longer held.
	past     []*past
	pastMore int
	// deleting is what its deletion waits for; empty before that has begun.
	deleting string
	// forgotten: it ended, and made place for others.
	forgotten bool
}

// unpack returns the content of an object, as one line of JSON.
func unpack(packed []byte) string {
	content, err := s2.Decode(nil, packed)
	if err != nil {
		panic(err) // it was packed here
	}
	return string(content)
}

// show takes over what is to be seen of a state, and reports whether that is
// anything new.
func (r *record) show(l *look) bool {
	old := r.row
	r.row.Created, r.row.Status, r.row.Labels, r.row.LabelsMore, r.row.Owners = l.created, l.status, l.labels, l.more, l.owners
	if l.cells != nil {
		r.row.Cells = l.cells
	}
	r.packed = l.packed
	return old.Created != r.row.Created || old.Status != r.row.Status || old.LabelsMore != r.row.LabelsMore ||
		!bytes.Equal(old.Cells, r.row.Cells) || !maps.Equal(old.Labels, r.row.Labels) || !slices.Equal(old.Owners, r.row.Owners)
}

// order is how objects are listed.
func order(a, b *record) int {
	return cmp.Or(
		cmp.Compare(a.row.Resource, b.row.Resource), cmp.Compare(a.row.Namespace, b.row.Namespace),
		cmp.Compare(a.row.Name, b.row.Name), cmp.Compare(a.row.Key, b.row.Key))
}

const (
	// maxEnded is how many objects are held that were deleted.
	maxEnded = 1000
	// maxPast is how many changes of an object are held.
	maxPast = 20
	// maxPastBytes is how many bytes those of all objects may have.
	maxPastBytes = 48 << 20
)

// past is a change of an object that is held for its history.
type past struct {
	of   *record
	text []byte
	gone bool
}

// store has the objects.
type store struct {
	records map[string]*record // all that are held, by key
	ended   []*record          // in this order
	// names has when the last object of a name ended, of those in ended.
	names map[name]int64

	queue     []*past // of all objects, in the order of time
	pastBytes int
}

type name struct{ resource, namespace, name string }

func (r *record) name() name { return name{r.row.Resource, r.row.Namespace, r.row.Name} }

func newStore() store {
	return store{records: map[string]*record{}, names: map[name]int64{}}
}

// remember adds a change to the history of an object.
func (s *store) remember(r *record, text []byte) {
	if len(r.past) == maxPast {
		s.forgetPast(r.past[0])
	}
	p := &past{of: r, text: text}
	r.past = append(r.past, p)
	s.queue = append(s.queue, p)
	s.pastBytes += len(text)
	s.trim()
}

// trim forgets the oldest changes, if there are too many, and lets go of what is
// forgotten.
func (s *store) trim() {
	for len(s.queue) > 0 && (s.queue[0].gone || s.pastBytes > maxPastBytes) {
		if p := s.queue[0]; !p.gone {
			s.forgetPast(p)
		}
		s.queue[0] = nil
		s.queue = s.queue[1:]
	}
	if len(s.queue) > 2*maxPast*(len(s.records)+1) {
		s.queue = slices.DeleteFunc(s.queue, func(p *past) bool { return p.gone })
	}
}

// forgetPast forgets the first change of an object.
func (s *store) forgetPast(p *past) {
	p.gone = true
	s.pastBytes -= len(p.text)
	p.text = nil
	p.of.past = slices.Delete(p.of.past, 0, 1)
	p.of.pastMore++
}

// end notes that an object was deleted.
func (s *store) end(r *record) {
	s.ended = append(s.ended, r)
	s.names[r.name()] = r.row.Ended
	if len(s.ended) > maxEnded {
		s.forget(s.ended[0])
		s.ended[0] = nil
		s.ended = s.ended[1:]
	}
}

func (s *store) forget(r *record) {
	for len(r.past) > 0 {
		s.forgetPast(r.past[0])
	}
	if s.names[r.name()] == r.row.Ended {
		delete(s.names, r.name())
	}
	r.forgotten = true
	delete(s.records, r.row.Key)
	s.trim()
}
