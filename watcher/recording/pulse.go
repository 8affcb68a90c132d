package recording

import (
	"sync"
	"time"
)

// pulseEvery is how often a Recorder looks at the clock, and pulseLate by how much more it may be
// then: it did not run meanwhile, and what comes next may have waited.
const (
	pulseEvery = time.Second
	pulseLate  = time.Second
)

// pulse finds out that the process did not run: it was stopped, or its machine slept. Clocks on
// walls are compared, as the monotonic one stands still while a machine sleeps.
type pulse struct {
	mu   sync.Mutex
	last time.Time // when it ran
	late time.Time // the last time at which it ran before it did not; zero: there is none
	end  func()    // nil: it does not beat by itself
}

// start begins to beat by itself, and calls each with the time of each beat.
func (p *pulse) start(each func(now time.Time)) {
	done, ended := make(chan struct{}), make(chan struct{})
	p.end = func() { close(done); <-ended }
	go func() {
		defer close(ended)
		ticker := time.NewTicker(pulseEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				now := time.Now()
				p.beat(now)
				each(now)
			}
		}
	}()
}

// beat notes that it runs.
func (p *pulse) beat(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now = now.Round(0)
	if p.late.IsZero() && !p.last.IsZero() && now.Sub(p.last) > pulseEvery+pulseLate {
		p.late = p.last
	}
	p.last = now
}

// take returns since when it did not run, if that has not been taken yet; else zero.
func (p *pulse) take(now time.Time) (since time.Time) {
	p.beat(now)
	p.mu.Lock()
	defer p.mu.Unlock()
	since, p.late = p.late, time.Time{}
	return since
}

func (p *pulse) stop() {
	if p.end != nil {
		p.end()
		p.end = nil
	}
}
