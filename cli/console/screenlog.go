package console

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"dwatch/output/text"
)

// maxScreenLines is how many of the last lines are printed again when the screen is left.
const maxScreenLines = 20

// ScreenLog is the stderr of a run that draws on the terminal. While it is diverted, lines are shown on the screen instead.
type ScreenLog struct {
	w    io.Writer
	mu   sync.Mutex
	show func(line string) // nil while lines go to w
	rest string            // the beginning of a line that has not ended
	kept []screenLine
}

type screenLine struct {
	at   time.Time
	line string
}

// UseScreenLog replaces the stderr and reports of c by a ScreenLog.
func (c *Console) UseScreenLog() *ScreenLog {
	log := &ScreenLog{w: c.Err}
	c.Err = log
	if !c.IsQuiet() {
		c.Reports = log
	}
	return log
}

// Capture makes the process's stderr go to the ScreenLog, too, until release is called.
func (l *ScreenLog) Capture() (release func()) { return CaptureStderr(text.NewWriter(l)) }

// Write implements io.Writer.
func (l *ScreenLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.show == nil {
		return l.w.Write(p)
	}
	l.rest += string(p)
	for {
		line, rest, whole := strings.Cut(l.rest, "\n")
		if !whole {
			return len(p), nil
		}
		l.rest, l.kept = rest, append(l.kept, screenLine{time.Now(), line})
		l.show(line)
	}
}

// Divert starts to call show for each line.
func (l *ScreenLog) Divert(show func(string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show = show
}

// Release ends Divert and prints the last lines that were shown, with the time of each.
func (l *ScreenLog) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rest != "" {
		l.kept, l.rest = append(l.kept, screenLine{time.Now(), l.rest}), ""
	}
	l.show = nil
	if more := len(l.kept) - maxScreenLines; more > 0 {
		fmt.Fprintf(l.w, "%d lines before these were shown on the screen\n", more)
		l.kept = l.kept[more:]
	}
	for _, s := range l.kept {
		if w, ok := l.w.(*lineWriter); ok {
			w.writeAt(s.at, []byte(s.line+"\n"))
		} else {
			fmt.Fprintln(l.w, s.line)
		}
	}
	l.kept = nil
}
