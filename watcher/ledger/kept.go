package ledger

import (
	"bytes"

	"github.com/klauspost/compress/s2"

	"dwatch/watcher/event"
)

// kept is the last state of an object, compressed. It implements event.Kept.
type kept struct {
	identity *event.Identity
	packed   []byte
}

// pack makes content small: to less than half, for some microseconds.
func (l *Ledger) pack(o event.Object) *kept {
	if !l.keep {
		return nil
	}
	l.plain = append(l.plain[:0], o.Raw()...)
	l.packed = s2.Encode(l.packed[:cap(l.packed)], l.plain)
	return &kept{o.Identity, bytes.Clone(l.packed)}
}

// object returns the state; the zero Object if there is none.
func (k *kept) object() event.Object {
	if k == nil {
		return event.Object{}
	}
	return event.NewKept(k.identity, k)
}

// Content implements event.Kept.
func (k *kept) Content() string {
	content, err := s2.Decode(nil, k.packed)
	if err != nil {
		panic(err) // it was packed here
	}
	return string(content)
}
