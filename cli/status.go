package cli

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

	"dwatch/cli/report"
)

// asked answers who asks with a signal how the run is. What the answer is may change on the way.
type asked struct {
	out     io.Writer
	answer  atomic.Pointer[func() []string]
	signals chan os.Signal
	done    sync.WaitGroup
}

// whenAsked answers on out from now on, whatever --quiet says: that is for what nobody asked for.
func whenAsked(out io.Writer) *asked {
	a := &asked{out: out, signals: make(chan os.Signal, 1)}
	a.is(func() []string { return []string{"connecting"} })
	if len(statusSignals) > 0 { // or Notify would take all
		signal.Notify(a.signals, statusSignals...)
	}
	a.done.Go(func() {
		for range a.signals {
			for _, line := range (*a.answer.Load())() {
				report.WriteLine(a.out, line)
			}
		}
	})
	return a
}

// is sets the answer, in lines. It is asked for in another goroutine.
func (a *asked) is(answer func() []string) { a.answer.Store(&answer) }

// inLine is an answer in one line.
func inLine(answer func() string) func() []string {
	return func() []string { return []string{answer()} }
}

// stop ends the answers. The signals do nothing any more: the end of a run is no time
// to be killed by a question.
func (a *asked) stop() {
	if len(statusSignals) > 0 {
		signal.Ignore(statusSignals...) // nothing is sent to the channel any more
	}
	close(a.signals)
	a.done.Wait()
}
