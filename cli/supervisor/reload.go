package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/output"
)

// readInterval is how often the file is read. It is polled, since what counts is its content, however it is written: in place, by
// another file, or through the links of a Kubernetes volume. A change counts when two reads agree, so that half a file does nothing.
const readInterval = time.Second

// A change that was not applied is tried again: the server may answer, or a file that a rule names may exist.
const (
	retryServer = 10 * time.Second
	retryFile   = time.Minute
)

// maxFileSize is the size of the largest ConfigMap.
const maxFileSize = 1 << 20

// ReadFile returns the text of a file of rules, and how to name it in messages. "-" is stdin.
func ReadFile(path string) (name string, text []byte, err error) {
	from, name := os.Stdin, "stdin"
	if path != "-" {
		name = output.EscapeLine(path)
		if from, err = os.Open(path); err != nil {
			return "", nil, fmt.Errorf("-f: %w", err)
		}
		defer from.Close()
	}
	text, err = io.ReadAll(io.LimitReader(from, maxFileSize+1))
	if err == nil && len(text) > maxFileSize {
		err = fmt.Errorf("it is larger than %d KiB", maxFileSize>>10)
	}
	if err != nil {
		return "", nil, fmt.Errorf("-f %s: %w", name, err)
	}
	return name, text, nil
}

// NotifyReload sends SIGHUP to reload until stop is called, so that it does not end the process. At a terminal SIGHUP keeps its meaning:
// the terminal was closed.
func (c *Config) NotifyReload(out *console.Console, reload chan os.Signal) (stop func()) {
	if c.isReadOnce() || out.StderrIsTerminal() {
		return func() {}
	}
	signal.Notify(reload, syscall.SIGHUP)
	return func() { signal.Stop(reload) }
}

// isReadOnce reports whether the rules come from something that cannot be read again, such as a pipe.
func (c *Config) isReadOnce() bool {
	info, err := os.Stat(c.File)
	return c.File == "-" || err == nil && !info.Mode().IsRegular()
}

// reloader applies changes of the file. One goroutine uses it.
type reloader struct {
	set      *Supervisor
	last     reading                // of the last read
	tried    reading                // the last reading that was applied or failed
	due      time.Time              // when to try again what could not be applied; zero means never
	reported string                 // why it could not be applied
	leaving  map[string]*activeRule // removed rules, until they have ended
}

func newReloader(s *Supervisor) *reloader {
	now := reading{text: s.text}
	return &reloader{set: s, last: now, tried: now, leaving: map[string]*activeRule{}}
}

// reading is the result of reading the file.
type reading struct {
	text []byte
	err  error
}

func (a reading) equal(b reading) bool {
	if a.err != nil || b.err != nil {
		return a.err != nil && b.err != nil && a.err.Error() == b.err.Error()
	}
	return bytes.Equal(a.text, b.text)
}

// run applies changes until ctx ends.
func (r *reloader) run(ctx context.Context) {
	if r.set.isReadOnce() {
		return
	}
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.set.reload:
			r.last, r.reported = r.read(), "" // whoever asks gets an answer
			r.try(ctx)
		case now := <-tick.C:
			r.forgetEnded()
			before := r.last
			r.last = r.read()
			isDue := !r.due.IsZero() && now.After(r.due)
			if r.last.equal(before) && (isDue || !r.last.equal(r.tried)) {
				r.try(ctx)
			}
		}
	}
}

func (r *reloader) read() (now reading) {
	if info, err := os.Stat(r.set.File); err == nil && !info.Mode().IsRegular() { // opening a pipe may block
		return reading{err: fmt.Errorf("-f %s: it is no regular file", output.EscapeLine(r.set.File))}
	}
	_, now.text, now.err = ReadFile(r.set.File)
	return now
}

// try applies what was read last, or reports why not.
func (r *reloader) try(ctx context.Context) {
	if !r.last.equal(r.tried) {
		r.reported = ""
	}
	r.tried, r.due = r.last, time.Time{}
	changes, err := "", r.tried.err
	if err == nil {
		changes, err = r.apply(ctx, r.tried.text)
	}
	if ctx.Err() != nil {
		return
	}
	s := r.set
	s.measured.RecordReload(time.Now(), err == nil)
	file := output.EscapeLine(s.File)
	if err == nil {
		r.reported, s.text = "", r.tried.text
		s.console.Say(fmt.Sprintf("%s reloaded: %s", file, changes))
		return
	}
	why := fail.Explain(err)
	r.due = time.Now().Add(retryFile)
	if fail.ExitCode(err) != fail.ExitUsage && r.tried.err == nil { // the file is not at fault
		r.due = time.Now().Add(retryServer)
		why = append(why[:len(why)-1], why[len(why)-1]+"; trying again")
	}
	if text := strings.Join(why, "\n"); text != r.reported {
		r.reported = text
		for _, line := range why {
			s.console.Warn(line)
		}
		s.console.Say(file + ": keeping the previous rules")
	}
}

// apply applies the rules of a text, and describes the changes. An error changes nothing.
func (r *reloader) apply(ctx context.Context, text []byte) (changes string, err error) {
	s := r.set
	all, err := s.Parse(output.EscapeLine(s.File), text)
	if err != nil {
		return "", fail.Usage(err)
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	c := r.compare(all)
	var groups [][]*activeRule
	if err = s.prepare(c.added); err == nil {
		groups, err = s.begin(ctx, c)
	}
	if err != nil {
		s.undo(c.added)
		return "", err
	}
	s.apply(ctx, r, c, groups)
	return c.String(), nil
}

// forgetEnded releases removed and changed rules that have ended.
func (r *reloader) forgetEnded() {
	r.set.mu.Lock()
	defer r.set.mu.Unlock()
	for _, all := range []map[string]*activeRule{r.leaving, r.set.draining} {
		for name, one := range all {
			if hasEnded(one.done) {
				delete(all, name)
			}
		}
	}
}
