package live

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// nudgeEvery and nudges: how often, and how many times, a process that should have
	// stopped is continued.
	nudgeEvery = 300 * time.Millisecond
	nudges     = 10
)

// suspend gives the terminal back and stops the process until the shell continues it.
// Where there is no shell that could (a command of ssh -t, the first process of a
// container), the system does not stop it: then it goes on at once, and would otherwise
// wait for ever to be continued.
func (m *model) suspend() tea.Cmd {
	if m.resumed != nil {
		return nil
	}
	resumed := make(chan struct{})
	m.resumed = resumed
	return tea.Batch(tea.Suspend, func() tea.Msg {
		nudge(resumed)
		return nil
	})
}

// nudge continues this process until it is; while it is stopped, nothing happens here.
func nudge(resumed <-chan struct{}) {
	pause := time.NewTicker(nudgeEvery)
	defer pause.Stop()
	for range nudges {
		select {
		case <-resumed:
			return
		case <-pause.C:
			continueSelf()
		}
	}
}

// resume is the end of suspend.
func (m *model) resume() {
	if m.resumed != nil {
		close(m.resumed)
		m.resumed = nil
	}
}
