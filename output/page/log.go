package page

import "slices"

// maxLog is the maximum size in bytes of the messages that are retained for viewers that reconnect or are slow.
const maxLog = 32 << 20

// entry is a message with a sequence number.
type entry struct {
	seq uint64
	// head is the encoded message. For a change message it lacks the row and the closing brace.
	head []byte
	row  []byte // nil except for change messages
	key  string // of the changed object; empty if there is none
	feed bool
}

func (e *entry) size() int { return len(e.head) + len(e.row) + 128 }

// full appends the message with its row to dst.
func (e *entry) full(dst []byte) []byte {
	if len(e.row) <= len("{}") {
		return append(dst, e.short()...)
	}
	return append(append(append(append(dst, e.head...), `,"row":`...), e.row...), '}')
}

// short returns the message without its row.
func (e *entry) short() []byte {
	if e.row == nil {
		return e.head
	}
	return append(e.head[:len(e.head):len(e.head)], '}')
}

// log has the latest messages. Sequence numbers start at 1 and have no gaps, except in the Hub for a past time of a live cluster,
// whose log only has feed messages: see liveHistory.redraw.
type log struct {
	entries []*entry
	bytes   int
	last    uint64 // sequence number of the last message; 0 means none
	max     int    // bytes
	cut     bool   // messages were dropped
}

func (l *log) next() uint64 { return l.last + 1 }

// add adds a message whose number is next, and drops the oldest ones if max is exceeded.
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

// after returns up to limit messages after seq. held is false if some messages after seq were dropped, or if seq is
// greater than last. Entries never change, so the caller needs no lock to read them.
func (l *log) after(seq uint64, limit int) (_ []*entry, held bool) {
	first := l.last + 1 - uint64(len(l.entries))
	if seq > l.last || seq+1 < first {
		return nil, false
	}
	rest := l.entries[seq+1-first:]
	return slices.Clone(rest[:min(len(rest), limit)]), true
}
