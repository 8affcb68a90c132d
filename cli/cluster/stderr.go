package cluster

import (
	"io"
	"os"
	"sync/atomic"
	"time"
)

// stderrPatience bounds the wait for what a plugin wrote before it ended: what it
// has started, and left behind, may hold its stderr open.
const stderrPatience = time.Second

// pluginStderr is what a plugin gets as its stderr: a pipe, from which all is passed
// on as it comes. nil stands for the stderr of the process.
type pluginStderr struct {
	write   *os.File
	midLine atomic.Bool
	copied  chan struct{} // closed when all has been passed on
}

// newPluginStderr returns one that passes on to w. It has to be closed.
func newPluginStderr(w io.Writer) (*pluginStderr, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s := &pluginStderr{write: write, copied: make(chan struct{})}
	go func() {
		defer close(s.copied)
		defer read.Close()
		io.Copy(io.MultiWriter(w, (*lineEnds)(&s.midLine)), read) // an error means that nobody reads it
	}()
	return s, nil
}

// use calls do with the pipe in the place of os.Stderr. client-go gives the plugin
// what it finds there when it makes a client, and lets nobody choose.
func (s *pluginStderr) use(do func()) {
	if s != nil {
		defer func(was *os.File) { os.Stderr = was }(os.Stderr)
		os.Stderr = s.write
	}
	do()
}

// beginLine forgets a line that an earlier plugin has not ended.
func (s *pluginStderr) beginLine() {
	if s != nil {
		s.midLine.Store(false)
	}
}

// isMidLine reports whether a line has been begun and not ended, as a question is.
func (s *pluginStderr) isMidLine() bool { return s != nil && s.midLine.Load() }

// close waits until all is passed on that plugins have written.
func (s *pluginStderr) close() {
	if s == nil {
		return
	}
	s.write.Close()
	select {
	case <-s.copied:
	case <-time.After(stderrPatience):
	}
}

// lineEnds notes whether what is written to it ends in the middle of a line.
type lineEnds atomic.Bool

// Write implements io.Writer.
func (l *lineEnds) Write(p []byte) (int, error) {
	(*atomic.Bool)(l).Store(len(p) > 0 && p[len(p)-1] != '\n')
	return len(p), nil
}
