package inventory

import (
	"cmp"
	"fmt"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// present is what is wrong at a time, under the lock of the Inventory.
type present struct {
	wrong
	// silent are the objects that are on their way, and do not say what keeps them.
	silent   map[*Entry]*spell
	revision uint64 // how often what is wrong has become another
}

func newPresent() present { return present{wrong: wrong{}, silent: map[*Entry]*spell{}} }

// update takes over whether a state of an object that is the present one is wrong.
func (p *present) update(o *Entry, s *State) {
	if p.wrong.update(o, s) {
		p.revision++
	}
	switch sp := p.silent[o]; {
	case s.EventType != "" || s.Status != kstatus.InProgressStatus || s.HasReason:
		delete(p.silent, o)
	case sp == nil:
		sp = &spell{from: s.Time, lastWrong: s, of: o}
		if s.Initial {
			sp.from, sp.settled = time.Time{}, s.byNow(s.settled)
		}
		p.silent[o] = sp
	default:
		sp.lastWrong = s
	}
}

// absolve takes an object out of what is wrong.
func (p *present) absolve(o *Entry) {
	delete(p.silent, o)
	if p.wrong[o] != nil {
		delete(p.wrong, o)
		p.revision++
	}
}

const (
	// forgiven is how old a Warning may be to say what keeps an object: of what is tried again it comes again.
	forgiven = time.Hour
	// repeated is how old it may be without that being said.
	repeated = time.Minute
	// early is how long before an object was seen to be on its way a Warning about that may have been: clocks differ, and what
	// comes by two watches comes in any order.
	early = 2 * time.Second
)

// explain takes in what has been on its way for so long that it is a problem, where a Warning about it says why, until
// forget is called.
func (p *present) explain(now time.Time, warning func(*State) (why string, last time.Time)) (forget func()) {
	before := map[*Entry]*spell{}
	for o, sp := range p.silent {
		from := cmp.Or(sp.from, sp.settled, o.FirstSeen)
		if now.Sub(from).Abs() < startsWithin {
			continue
		}
		why, last := warning(sp.lastWrong)
		age := now.Sub(last)
		if why == "" || age > forgiven || sp.isAfter(last) {
			continue
		}
		if age >= repeated {
			why += fmt.Sprintf(" (%d min ago)", int(age.Minutes()))
		}
		said := *sp.lastWrong
		said.Message, said.HasReason, said.SelfReported = why, true, true
		before[o] = p.wrong[o]
		p.wrong[o] = &spell{from: sp.from, settled: sp.settled, lastWrong: &said, of: o}
	}
	return func() {
		for o, sp := range before {
			if sp == nil {
				delete(p.wrong, o)
			} else {
				p.wrong[o] = sp
			}
		}
	}
}

// isAfter reports whether what a Warning said was over, as far as is known, when the object got on its way.
func (sp *spell) isAfter(warning time.Time) bool {
	begun := cmp.Or(sp.from, sp.settled)
	return !begun.IsZero() && warning.Before(begun.Add(-early))
}
