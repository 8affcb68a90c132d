package console

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

	"dwatch/cli/report"
)

// StatusRequests answers SIGUSR1 and SIGINFO with the status of the run.
type StatusRequests struct {
	out     io.Writer
	answer  atomic.Pointer[func() []string]
	signals chan os.Signal
	done    sync.WaitGroup
}

// answerStatusRequests starts to answer on out. --quiet does not hide answers: the user asked for them.
func answerStatusRequests(out io.Writer) *StatusRequests {
	s := &StatusRequests{out: out, signals: make(chan os.Signal, 1)}
	s.Set(func() []string { return []string{"connecting"} })
	if len(statusSignals) > 0 { // without arguments, Notify would deliver all signals
		signal.Notify(s.signals, statusSignals...)
	}
	s.done.Go(func() {
		for range s.signals {
			for _, line := range (*s.answer.Load())() {
				report.WriteLine(s.out, line)
			}
		}
	})
	return s
}

// Set makes answer the source of the lines. Another goroutine calls it.
func (s *StatusRequests) Set(answer func() []string) { s.answer.Store(&answer) }

// stop ends the answers. It makes the process ignore the signals, so that a late request does not kill the process.
func (s *StatusRequests) stop() {
	if len(statusSignals) > 0 {
		signal.Ignore(statusSignals...) // nothing is sent to the channel any more
	}
	close(s.signals)
	s.done.Wait()
}
