package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
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
	r.tried, r.leaving, r.ready = reading{text: r.text}, map[string]*rule{}, make(chan *rule)
	r.seen = r.tried
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
			r.come = append(r.come, one)
			r.takeIfAll(ctx)
		case now := <-tick.C:
			r.take(ctx)
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
		return reading{err: fmt.Errorf("-f %s: it is no regular file", output.Line(r.file))}
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
	r.measured.Read(time.Now(), err == nil)
	file := output.Line(r.file)
	if err == nil {
		r.said = ""
		r.console.say(fmt.Sprintf("%s was read again: %s", file, what))
		return
	}
	why := fail.Explain(err)
	r.due = time.Now().Add(retryWrong)
	if _, isWrong := errors.AsType[*wrongRules](err); !isWrong && r.tried.err == nil { // it is not the file's fault
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

// wrongRules is an error that is in the file.
type wrongRules struct{ error }

func (e *wrongRules) Unwrap() error { return e.error }

func wrong(err error) error {
	if err == nil {
		return nil
	}
	return &wrongRules{err}
}

// difference is what becomes of the rules.
type difference struct {
	kept, gone []*rule
	begin      []*rule // new ones, and those that take the place of another
}

// change has the rules be those of a text, and says what becomes of them. After an error they are as they were.
func (r *rereading) change(ctx context.Context, text []byte) (what string, err error) {
	all, err := r.parse(output.Line(r.file), text)
	if err != nil {
		return "", wrong(err)
	}
	r.take(ctx) // what is known of a rule from here on is that it runs, or that its stages are yet to be made
	c := r.compare(all)
	if err := r.prepare(ctx, c.begin); err != nil {
		r.undo(c.begin)
		return "", err
	}
	r.replace(ctx, c)
	return c.String(), nil
}

// compare finds out what stays.
func (r *rereading) compare(all []*rule) (c difference) {
	named := map[string]*rule{}
	for _, one := range r.rules {
		named[one.Name] = one
	}
	for _, one := range all {
		old := named[one.Name]
		if old != nil && old.Equal(one.Rule) {
			c.kept = append(c.kept, old)
		} else {
			one.replaces = old != nil
			if old == nil && r.stateDir != "" { // which may have the file yet
				old = r.leaving[one.Name]
			}
			if one.after = old; old != nil && old.waits {
				one.after, one.unrun = old.after, old
			}
			c.begin = append(c.begin, one)
		}
		delete(named, one.Name)
	}
	for _, one := range r.rules {
		if named[one.Name] != nil {
			c.gone = append(c.gone, one)
		}
	}
	return c
}

// prepare does all for rules that may fail before anything is changed.
func (r *rereading) prepare(ctx context.Context, begin []*rule) error {
	var all []error
	for _, one := range begin {
		err := one.checkReceiver(r.console.silent())
		all = append(all, err)
		if err == nil {
			one.to.close()
		}
	}
	if err := errors.Join(all...); err != nil {
		return wrong(err)
	}
	for _, one := range begin {
		if err := r.open(ctx, one); err != nil {
			return err
		}
	}
	manage(begin, r.isManaged())
	for _, isNew := range []bool{false, true} { // which make files
		for _, one := range begin {
			if isNew != (one.after == nil) {
				continue
			}
			if err := r.beginEarly(ctx, one); err != nil {
				return one.wrong(one.Where, err)
			}
		}
	}
	return nil
}

// open makes the receiver of a rule, and finds out what it names. What there is to say of that waits until it is taken.
func (r *rereading) open(ctx context.Context, one *rule) error {
	c := r.console.ofRule(one.Name)
	if !c.isQuiet() {
		one.notes = &notes{next: c.reports}
		c.reports = one.notes
	}
	if err := one.to.prepare(c); err != nil {
		return wrong(errorOf(one.Where+": rule "+one.Name, err))
	}
	if err := one.open(ctx, c, r.cluster); err != nil {
		if fail.ExitCode(err) == fail.ExitUsage {
			return wrong(err)
		}
		return errorOf("rule "+one.Name, err)
	}
	if err := one.checkAsked(ctx); err != nil {
		return one.wrong(one.At("field-selector"), err)
	}
	if r.measured != nil {
		one.metrics = one.newMetrics()
	}
	return nil
}

// wrong says where the rule is that an error is about, and whether that is the file's fault.
func (one *rule) wrong(where string, err error) error {
	if err = errorOf(where+": rule "+one.Name, err); fail.ExitCode(err) == fail.ExitUsage {
		return wrong(err)
	}
	return err
}

// isManaged reports whether what is watched has the managed fields.
func (r *ruleset) isManaged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.watches, func(w *ruleWatch) bool { return w.managed })
}

// beginEarly makes the stages of a rule, or of one that takes the place of another, whose file it needs, what can be known before.
func (r *rereading) beginEarly(ctx context.Context, one *rule) error {
	if one.after == nil {
		_, err := os.Stat(one.stateFile)
		one.made = one.stateFile != "" && errors.Is(err, fs.ErrNotExist)
		return one.begin(ctx, r.ruleset)
	}
	if err := one.checkState(); err != nil {
		return fail.Usage(err)
	}
	if one.delivery().remote == nil {
		return nil
	}
	return one.delivery().beginFor(ctx, one.watching)
}

// checkState returns an error if a rule can't go on with the file of the one whose place it is to take.
func (one *rule) checkState() error {
	if one.stateFile == "" {
		return nil
	}
	was := one.after
	if before, now := was.plan.Selection, one.plan.Selection; !before.Equal(now) {
		return fmt.Errorf("its state file %s was made for %s, not for %s: give it another name", output.Line(one.stateFile), before, now)
	}
	err := was.state.file.CheckEncoding(one.print.Format)
	if hasEnded(was.done) { // and its file is closed: the begin finds out
		return nil
	}
	return err
}

// undo closes what was opened for rules that do not begin, and removes what was made for them.
func (r *rereading) undo(begin []*rule) {
	if err := closeStates(begin); err != nil {
		r.console.warn(err.Error())
	}
	for _, one := range begin {
		one.state = nil
		one.to.close()
		if one.made {
			_ = os.Remove(one.stateFile) // or it stays, with nothing in it
		}
	}
}

// String says what becomes of the rules.
func (c difference) String() string {
	var new, changed []*rule
	for _, one := range c.begin {
		if one.replaces {
			changed = append(changed, one)
		} else {
			new = append(new, one)
		}
	}
	var parts []string
	for _, part := range []struct {
		what  string
		rules []*rule
	}{{"new", new}, {"changed", changed}, {"let go", c.gone}} {
		if len(part.rules) > 0 {
			parts = append(parts, part.what+": "+ruleNames(part.rules))
		}
	}
	if parts == nil {
		return "nothing changes"
	}
	if len(c.kept) > 0 {
		parts = append(parts, "as before: "+ruleNames(c.kept))
	}
	return strings.Join(parts, "; ")
}

func ruleNames(rules []*rule) string {
	var names []string
	for _, one := range rules {
		names = append(names, one.Name)
	}
	return strings.Join(names, ", ")
}
