package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"dwatch/cli/fail"
	"dwatch/output"
)

// rereadEvery is how often the file of rules is looked at. It is read, and not watched: whoever writes it, in place, by another
// file, or as a volume of Kubernetes does by a link, it is what is there that counts. A change is taken when it is the same in
// two looks, so that nobody is let go by half a file.
const rereadEvery = time.Second

// It is tried again what the server has not answered, and what is wrong: files that the rules name may come later.
const (
	retryUnanswered = 10 * time.Second
	retryWrong      = time.Minute
)

// whenAskedAgain returns what has a signal when the file is to be read again at once. At a terminal that signal is the end
// of the terminal, and of the run.
func (r *ruleset) whenAskedAgain(c *console) (stop func()) {
	r.asked = make(chan os.Signal, 1)
	if r.isReadOnce() || c.atTerminal() {
		return func() {}
	}
	signal.Notify(r.asked, syscall.SIGHUP)
	return func() { signal.Stop(r.asked) }
}

// isReadOnce reports whether the rules come from what can't be read again, such as a pipe.
func (r *ruleset) isReadOnce() bool {
	info, err := os.Stat(r.file)
	return r.file == "-" || err == nil && !info.Mode().IsRegular()
}

// rereading has the rules change with their file. What it has is of one goroutine.
type rereading struct {
	*ruleset
	seen, tried reading   // what was there at the last look, and what was taken, or was wrong
	due         time.Time // of the next try of what is not taken; zero: there is none
	said        string
	leaving     map[string]*rule // what was let go, until it has ended
	ready       chan *rule       // has those whose stages are made
	come        []*rule          // which these are, and do not run yet
}

func newRereading(r *ruleset) *rereading {
	now := reading{text: r.text}
	return &rereading{ruleset: r, seen: now, tried: now, leaving: map[string]*rule{}, ready: make(chan *rule)}
}

// reading is what a look at the file has found.
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

// run rereads until ctx ends.
func (r *rereading) run(ctx context.Context) {
	if r.isReadOnce() {
		return
	}
	tick := time.NewTicker(rereadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.undo(r.come)
			return
		case <-r.asked:
			r.seen, r.said = r.look(), "" // who asks gets an answer
			r.try(ctx)
		case one := <-r.ready:
			r.comes(ctx, one)
		case now := <-tick.C:
			r.takeReady(ctx)
			r.forgetEnded()
			before := r.seen
			r.seen = r.look()
			isDue := !r.due.IsZero() && now.After(r.due)
			if r.seen.equal(before) && (isDue || !r.seen.equal(r.tried)) {
				r.try(ctx)
			}
		}
	}
}

func (r *rereading) look() (now reading) {
	if info, err := os.Stat(r.file); err == nil && !info.Mode().IsRegular() { // to open a pipe may take for ever
		return reading{err: fmt.Errorf("-f %s: it is no regular file", output.EscapeLine(r.file))}
	}
	_, now.text, now.err = readRules(r.file)
	return now
}

// try has the rules be those of the file, or says why not.
func (r *rereading) try(ctx context.Context) {
	if !r.seen.equal(r.tried) {
		r.said = ""
	}
	r.tried, r.due = r.seen, time.Time{}
	what, err := "", r.tried.err
	if err == nil {
		what, err = r.change(ctx, r.tried.text)
	}
	if ctx.Err() != nil {
		return
	}
	r.measured.RecordReload(time.Now(), err == nil)
	file := output.EscapeLine(r.file)
	if err == nil {
		r.said, r.text = "", r.tried.text
		r.console.say(fmt.Sprintf("%s was read again: %s", file, what))
		return
	}
	why := fail.Explain(err)
	r.due = time.Now().Add(retryWrong)
	if fail.ExitCode(err) != fail.ExitUsage && r.tried.err == nil { // it is not the file's fault
		r.due = time.Now().Add(retryUnanswered)
		why = append(why[:len(why)-1], why[len(why)-1]+"; trying again")
	}
	if text := strings.Join(why, "\n"); text != r.said {
		r.said = text
		for _, line := range why {
			r.console.warn(line)
		}
		r.console.say(file + ": the rules stay as they were")
	}
}

// change has the rules be those of a text, and says what becomes of them. After an error they are as they were.
func (r *rereading) change(ctx context.Context, text []byte) (what string, err error) {
	all, err := r.parse(output.EscapeLine(r.file), text)
	if err != nil {
		return "", fail.Usage(err)
	}
	r.take(ctx) // what is known of a rule from here on is that it runs, or that its stages are yet to be made
	c := r.compare(all)
	err = r.prepare(c.begin)
	if err == nil {
		err = r.begin(ctx, c)
	}
	if err != nil {
		r.undo(c.begin)
		return "", err
	}
	r.replace(ctx, c)
	return c.String(), nil
}
