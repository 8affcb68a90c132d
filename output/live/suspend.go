package live

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
)

// execFunc is a tea.ExecCommand that calls a function. Bubbletea restores the terminal before the call, and draws the
// whole screen after it.
type execFunc func()

// rendererShutdown is how long the renderer's goroutine may take to end. It stops its ticker last, and bubbletea does not
// wait for that. If the next renderer started earlier, its ticker would be stopped and nothing would be drawn any more.
const rendererShutdown = 100 * time.Millisecond

// Run implements tea.ExecCommand.
func (r execFunc) Run() error {
	r()
	time.Sleep(rendererShutdown)
	return nil
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand.
func (execFunc) SetStdin(io.Reader)  {}
func (execFunc) SetStdout(io.Writer) {}
func (execFunc) SetStderr(io.Writer) {}

// suspension stops the process and continues it.
type suspension struct {
	stopping atomic.Bool // the process is stopping itself, or has done so
}

// suspend restores the terminal and stops the process until the shell continues it.
func (s *suspension) suspend() tea.Cmd {
	if s.stopping.Swap(true) {
		return nil
	}
	return tea.Exec(execFunc(stopSelf), func(error) tea.Msg {
		s.stopping.Store(false)
		return nil
	})
}

// restoreOnContinue sets up the terminal again after another process stopped and continued this one.
func (s *suspension) restoreOnContinue(ctx context.Context, p *tea.Program, terminal *os.File) {
	continued, end := notifyContinued()
	defer end()
	for {
		select {
		case <-ctx.Done():
			return
		case <-continued:
		}
		switch {
		case s.stopping.Load(): // bubbletea sets up the terminal after suspend
		case ownsTerminal(terminal):
			p.Send(tea.Exec(execFunc(func() {}), nil)())
		default: // continued in the background: stop until it is in the foreground
			stopForTerminal()
		}
	}
}
