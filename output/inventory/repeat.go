package inventory

import (
	"hash/maphash"
	"time"
)

// Repeat counts equal changes of an object, for example of a counter or a crashing container. The zero value means that
// the number is unknown.
type Repeat struct {
	Times       int
	First       time.Time
	Fingerprint ChangeFingerprint
}

// ChangeFingerprint is equal for changes that count as equal. It is only valid within one process.
type ChangeFingerprint uint64

// maxFingerprints bounds the number of different changes that are counted per object.
const maxFingerprints = 32

// countChange counts a change of an object. Only Deliver may call it.
func (o *Entry) countChange(c *Change) Repeat {
	if c.Diff == nil && !c.State.Object.IsEvent() { // created or deleted
		return Repeat{}
	}
	kind := fingerprint(c)
	for n := range o.repeats {
		if r := &o.repeats[n]; r.Fingerprint == kind {
			r.Times++
			return *r
		}
	}
	if len(o.repeats) == maxFingerprints {
		return Repeat{}
	}
	r := Repeat{1, c.State.Time, kind}
	o.repeats = append(o.repeats, r)
	return r
}

var seed = maphash.MakeSeed()

// fingerprint is equal for two changes of an object if the same fields changed in the same way, and fields that
// distinguish states got the same values.
func fingerprint(c *Change) ChangeFingerprint {
	var h maphash.Hash
	h.SetSeed(seed)
	if c.State.Object.IsEvent() { // an update of an Event is a repetition
		return ChangeFingerprint(h.Sum64())
	}
	for n := range c.Diff.Changes {
		one := &c.Diff.Changes[n]
		h.WriteString(one.Path.String())
		h.WriteString(string(one.Kind))
		if text, is := one.New.(string); is && distinguishing[one.Path[len(one.Path)-1].Field] {
			h.WriteString(text)
		}
	}
	return ChangeFingerprint(h.Sum64())
}

// distinguishing lists the fields whose values distinguish states.
var distinguishing = map[string]bool{"reason": true, "phase": true, "status": true, "type": true, "image": true}
