package live

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
)

// returned is done while the terminal is given back; then that is taken again, and all drawn anew.
type returned func()

// rendererEnds is how long the goroutine that draws has for its end: it stops its ticker last,
// without anybody waiting for it. If the next one has begun by then, nothing is drawn any more.
const rendererEnds = 100 * time.Millisecond

// Run implements tea.ExecCommand.
func (r returned) Run() error {
	r()
	time.Sleep(rendererEnds)
	return nil
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand.
func (returned) SetStdin(io.Reader)  {}
func (returned) SetStdout(io.Writer) {}
func (returned) SetStderr(io.Writer) {}

// suspension is how the process is stopped and goes on.
type suspension struct {
	stopping atomic.Bool // the process stops itself, or has done so
}

// suspend gives the terminal back and stops the process until the shell continues it.
func (s *suspension) suspend() tea.Cmd {
	if s.stopping.Swap(true) {
		return nil
	}
	return tea.Exec(returned(stopSelf), func(error) tea.Msg {
		s.stopping.Store(false)
		return nil
	})
}

// takeBack restores the terminal when the process was stopped by somebody else, and continued.
func (s *suspension) takeBack(ctx context.Context, p *tea.Program, terminal *os.File) {
	continued, end := notifyContinued()
	defer end()
	for {
		select {
		case <-ctx.Done():
			return
		case <-continued:
		}
		switch {
		case s.stopping.Load(): // after suspend it is in order
		case ownsTerminal(terminal):
			p.Send(tea.Exec(returned(func() {}), nil)())
		default: // continued by bg: it has to wait for fg
			stopForTerminal()
		}
	}
}
