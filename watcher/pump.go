package watcher

import "context"

// pump is Run's loop: all that is emitted is emitted by it.
type pump struct {
	*run
	emit   func(Event) error
	cancel context.CancelCauseFunc
	pulse  *pulse
	failed error
}

// emitAll emits until events is closed, and returns the first error. After that
// it only receives, so that nobody who sends hangs.
func (p *pump) emitAll(events <-chan emission) error {
	beats, stop := ticks(p.options.Heartbeat)
	defer stop()
	for {
		select {
		case e, open := <-events:
			if !open {
				return p.failed
			}
			p.take(e)
		case <-beats:
			p.take(emission{p.pulse.beat(), 0})
		}
		if idle := p.options.Idle; len(events) == 0 && p.failed == nil && idle != nil {
			p.check(idle())
		}
	}
}

func (p *pump) take(e emission) {
	if p.failed == nil {
		p.check(p.emit(e.Event))
	}
	p.pulse.observe(e.Event)
	p.gate.leave(e.held)
}

func (p *pump) check(err error) {
	if err != nil && p.failed == nil {
		p.failed = err
		p.cancel(err)
	}
}
