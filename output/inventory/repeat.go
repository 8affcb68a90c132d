package inventory

import (
	"hash/maphash"
	"time"
)

// Repeat says how often an object has changed in the same way: a counter, a container that crashes
// again and again. The zero value means that it is not known.
type Repeat struct {
	Times       int
	First       time.Time
	Fingerprint ChangeFingerprint
}

// Kind is in which way an object changed, as long as the program runs.
type ChangeFingerprint uint64

// maxKinds is of how many ways an object can change they are counted.
const maxKinds = 32

// repeated counts a change of an object. It is for Deliver alone.
func (o *Entry) repeated(c *Change) Repeat {
	if c.Diff == nil && !c.State.Object.IsEvent() { // it came or went
		return Repeat{}
	}
	kind := kindOf(c)
	for n := range o.repeats {
		if r := &o.repeats[n]; r.Fingerprint == kind {
			r.Times++
			return *r
		}
	}
	if len(o.repeats) == maxKinds {
		return Repeat{}
	}
	r := Repeat{1, c.State.Time, kind}
	o.repeats = append(o.repeats, r)
	return r
}

var seed = maphash.MakeSeed()

// kindOf is the same for two changes of an object in which the same places changed, and of what
// says why, to the same.
func kindOf(c *Change) ChangeFingerprint {
	var h maphash.Hash
	h.SetSeed(seed)
	if c.State.Object.IsEvent() { // it tells the same again
		return ChangeFingerprint(h.Sum64())
	}
	for n := range c.Diff.Changes {
		one := &c.Diff.Changes[n]
		h.WriteString(one.Path.String())
		h.WriteString(string(one.Kind))
		if text, is := one.New.(string); is && says[one.Path[len(one.Path)-1].Field] {
			h.WriteString(text)
		}
	}
	return ChangeFingerprint(h.Sum64())
}

// says are fields that tell one state from another.
var says = map[string]bool{"reason": true, "phase": true, "status": true, "type": true, "image": true}
