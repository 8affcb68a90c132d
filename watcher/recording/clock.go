package recording

import (
	"sync"
	"time"
)

const (
	// clockInterval is how often a Recorder without Options.Now reads the clock.
	clockInterval = time.Second
	// suspendTolerance is by how much a reading may be late before the process counts as suspended.
	suspendTolerance = time.Second
	// stepTolerance is by how much the wall clock may fall behind the monotonic clock from one reading to
	// the next before it counts as put back. The two are not read at the same instant.
	stepTolerance = 10 * time.Millisecond
)

// clockMonitor detects that the process did not run, because it was stopped or its machine slept, and that
// the wall clock was put back. It detects the former from the wall clock, because the monotonic clock
// stands still while a machine sleeps.
type clockMonitor struct {
	// readOffset returns by how much the wall clock is ahead of the monotonic clock. nil disables the check
	// for a clock that was put back.
	readOffset func() time.Duration

	mu             sync.Mutex
	last           time.Time     // the latest reading
	offset         time.Duration // readOffset at the latest reading
	suspendedSince time.Time     // the last reading before a suspension that take has not returned yet
	step           clockStep     // a step that take has not returned yet
	stopLoop       func()        // nil if start was not called
}

// clockStep is the range of times that the wall clock may have shown twice when it was put back. It is zero if
// that did not happen.
type clockStep struct{ from, to time.Time }

func (s clockStep) isZero() bool { return s.to.IsZero() }

// start reads the clock of the machine once a second until stop is called. After each reading, it calls each with the time.
func (m *clockMonitor) start(each func(now time.Time)) {
	base := time.Now()
	m.readOffset = func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(base.Round(0)) - now.Sub(base)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	m.stopLoop = func() { close(done); <-ended }
	go func() {
		defer close(ended)
		ticker := time.NewTicker(clockInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				now := time.Now()
				m.observe(now)
				each(now)
			}
		}
	}()
}

func (m *clockMonitor) stop() {
	if m.stopLoop != nil {
		m.stopLoop()
		m.stopLoop = nil
	}
}

// observe compares a reading of the clock with the previous one.
func (m *clockMonitor) observe(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now = now.Round(0)
	if m.suspendedSince.IsZero() && !m.last.IsZero() && now.Sub(m.last) > clockInterval+suspendTolerance {
		m.suspendedSince = m.last
	}
	if m.readOffset != nil {
		m.detectStepLocked(now)
	}
	m.last = now
}

// detectStepLocked extends m.step if the clock was put back since the last reading. The exact time is unknown.
func (m *clockMonitor) detectStepLocked(now time.Time) {
	offset := m.readOffset()
	for n := 0; n < 3 && m.offset-offset > stepTolerance; n++ { // the process may have been interrupted between reading the two clocks
		offset = max(offset, m.readOffset())
	}
	if back := m.offset - offset; back > stepTolerance && !m.last.IsZero() {
		from := m.last.Add(-back)
		if !m.step.isZero() && m.step.from.Before(from) {
			from = m.step.from
		}
		m.step = clockStep{from, later(m.step.to, now.Add(back))}
	}
	m.offset = offset
}

// take observes a reading of the clock, and returns what was detected since the last call: suspendedSince is zero if the process was not
// suspended, and step is zero if the clock was not put back.
func (m *clockMonitor) take(now time.Time) (suspendedSince time.Time, step clockStep) {
	m.observe(now)
	m.mu.Lock()
	defer m.mu.Unlock()
	suspendedSince, step = m.suspendedSince, m.step
	m.suspendedSince, m.step = time.Time{}, clockStep{}
	return suspendedSince, step
}
