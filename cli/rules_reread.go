package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	if r.file == "-" || c.atTerminal() {
		return func() {}
	}
	signal.Notify(r.asked, syscall.SIGHUP)
	return func() { signal.Stop(r.asked) }
}

// rereading has the rules change with their file.
type rereading struct {
	*ruleset
	seen, tried reading   // what was there at the last look, and what was taken, or was wrong
	due         time.Time // of the next try of what is not taken; zero: there is none
	said        string
	leaving     map[string]*rule
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
	if info, err := os.Stat(r.file); r.file == "-" || err == nil && !info.Mode().IsRegular() { // what can be read once
		return
	}
	r.tried, r.leaving = reading{text: r.text}, map[string]*rule{}
	r.seen = r.tried
	tick := time.NewTicker(rereadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
			r.seen = r.look()
			r.try(ctx)
		case now := <-tick.C:
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

// change has the rules be those of a text, and says what became of them. After an error they are as they were.
func (r *rereading) change(ctx context.Context, text []byte) (what string, err error) {
	all, err := r.parse(output.Line(r.file), text)
	if err != nil {
		return "", wrong(err)
	}
	defer r.dropUnasked()
	c := r.compare(all)
	if err := r.prepare(ctx, c.begin); err != nil {
		r.undo(c.begin)
		return "", err
	}
	for _, one := range c.gone {
		r.letGo(one, false)
		r.leaving[one.Name] = one
		if one.state != nil {
			one.say("it is let go; its file stays: " + output.Line(one.state.path))
		} else {
			one.say("it is let go")
		}
	}
	err = r.replace(ctx, c.begin)
	if err != nil && ctx.Err() == nil {
		r.end(err) // which ends the run: what it was is let go
	}
	if err != nil {
		r.undo(c.begin)
		return "", err
	}
	r.take(ctx, c)
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
			one.after, one.replaces = old, old != nil
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
		if err := one.to.prepare(r.console.ofRule(one.Name)); err != nil {
			return wrong(errorOf(one.Where+": rule "+one.Name, err))
		}
		if err := one.open(ctx, r.console, r.cluster); err != nil {
			if fail.ExitCode(err) == fail.ExitUsage {
				return wrong(err)
			}
			return errorOf("rule "+one.Name, err)
		}
		if r.measured != nil {
			one.metrics = one.newMetrics()
		}
	}
	manage(begin, r.isManaged())
	for _, one := range begin {
		if err := r.beginEarly(ctx, one); err != nil {
			if err = errorOf(one.Where+": rule "+one.Name, err); fail.ExitCode(err) == fail.ExitUsage {
				err = wrong(err)
			}
			return err
		}
	}
	return nil
}

// isManaged reports whether what is watched has the managed fields.
func (r *ruleset) isManaged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.watches, func(w *ruleWatch) bool { return w.managed })
}

// beginEarly makes the stages of a rule, or of one that takes the place of another, whose file it needs, what can be known before.
func (r *rereading) beginEarly(ctx context.Context, one *rule) error {
	if old := r.leaving[one.Name]; one.after == nil {
		if old != nil && r.stateDir != "" { // it has the file
			await(ctx, old.done, 0)
		}
		return one.begin(ctx, r.ruleset)
	}
	if now, was := one.plan.Selection, one.after.plan.Selection; one.after.state != nil && !was.Equal(now) {
		return fail.Usage(fmt.Errorf("its state file %s was made for %s, not for %s: give it another name", output.Line(one.after.state.path), was, now))
	}
	if one.delivery().remote == nil {
		return nil
	}
	return one.delivery().beginFor(ctx, one.watching)
}

// undo closes what was opened for rules that do not begin.
func (r *rereading) undo(begin []*rule) {
	if err := closeStates(begin); err != nil {
		r.console.warn(err.Error())
	}
	for _, one := range begin {
		one.to.close()
	}
}

// replace lets go of rules that others take the place of, and makes the stages of these. What has not been delivered by then waits in
// the file of the rule; where there is none the old one goes on with it, beside the new one.
func (r *rereading) replace(ctx context.Context, begin []*rule) error {
	var new []*rule
	for _, one := range begin {
		if one.after != nil {
			new = append(new, one)
			r.letGo(one.after, one.after.state == nil)
		}
	}
	for _, one := range new {
		await(ctx, one.after.told, 0)
		if one.after.state != nil {
			await(ctx, one.after.done, 0)
		} else {
			await(ctx, one.after.done, one.after.delivery().Drain)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := one.begin(ctx, r.ruleset); err != nil {
			return errorOf("rule "+one.Name, err)
		}
		one.after = nil
	}
	return nil
}

// await waits for an end, for a time at most if that is not 0.
func await(ctx context.Context, end <-chan struct{}, most time.Duration) {
	var late <-chan time.Time
	if most > 0 {
		late = time.After(most)
	}
	select {
	case <-end:
	case <-late:
	case <-ctx.Done():
	}
}

// take runs what is new.
func (r *rereading) take(ctx context.Context, c difference) {
	watches := r.share(r.console, c.begin, true)
	r.mu.Lock()
	r.rules = slices.Concat(c.kept, c.begin)
	r.watches = slices.Concat(r.watches, watches)
	r.mu.Unlock()
	r.measure(r.rules)
	for _, one := range c.begin {
		r.launch(ctx, one)
	}
	for _, w := range watches {
		r.launchWatch(ctx, w)
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
