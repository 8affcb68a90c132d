package page

import "slices"

// maxLog is how many bytes of messages are held for viewers that connect again, or are slow.
const maxLog = 32 << 20

// entry is a message that has a number.
type entry struct {
	seq uint64
	// head is the message; of a change it is all but the row, and without the last brace.
	head []byte
	row  []byte // nil for other messages than change
	key  string // of the object that it is about; empty for none
	feed bool
}

func (e *entry) size() int { return len(e.head) + len(e.row) + 128 }

func (e *entry) full(dst []byte) []byte {
	if len(e.row) <= len("{}") { // nothing that the message does not say
		return append(dst, e.short()...)
	}
	return append(append(append(append(dst, e.head...), `,"row":`...), e.row...), '}')
}

func (e *entry) short() []byte {
	if e.row == nil {
		return e.head
	}
	return append(e.head[:len(e.head):len(e.head)], '}')
}

// log has the last messages, numbered without holes. It has none at first, and begins with 1.
type log struct {
	entries []*entry
	bytes   int
	last    uint64
	max     int  // bytes of messages
	cut     bool // some were forgotten
}

func (l *log) next() uint64 { return l.last + 1 }

// add adds a message, which has that number, and forgets the oldest ones.
func (l *log) add(e *entry) {
	l.last = e.seq
	l.entries = append(l.entries, e)
	l.bytes += e.size()
	for l.bytes > l.max && len(l.entries) > 1 {
		l.cut = true
		l.bytes -= l.entries[0].size()
		l.entries[0] = nil
		l.entries = l.entries[1:]
	}
}

// after returns up to limit messages after seq, if held. They stay as they are: no lock is needed.
func (l *log) after(seq uint64, limit int) (_ []*entry, held bool) {
	first := l.last + 1 - uint64(len(l.entries))
	if seq > l.last || seq+1 < first {
		return nil, false
	}
	rest := l.entries[seq+1-first:]
	return slices.Clone(rest[:min(len(rest), limit)]), true
}
