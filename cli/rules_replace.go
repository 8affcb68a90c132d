package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/watcher/source"
)

// replace lets go of rules, and has others begin: at once, or when that has ended whose place they take. What has not been delivered
// by then waits in the file of the rule; where there is none the old one goes on with it, beside the new one.
func (r *rereading) replace(ctx context.Context, c difference) {
	for _, one := range c.gone {
		r.letGo(one, false)
		r.leaving[one.Name] = one
		if one.stateFile != "" {
			one.say("it is let go; its file stays: " + output.EscapeLine(one.stateFile))
		} else {
			one.say("it is let go")
		}
	}
	for _, one := range c.begin {
		one.notes.tell()
		switch old := one.after; {
		case one.unrun != nil && !one.unrun.leaves.Load():
			r.letGo(one.unrun, false)
		case old == nil || old.leaves.Load():
		case one.stateFile == "":
			r.letGo(old, true)
			r.linger(old)
		default:
			r.letGo(old, false)
		}
	}
	r.mu.Lock()
	r.rules = slices.Concat(c.kept, c.begin)
	for _, one := range c.begin {
		one.waits = true
	}
	r.mu.Unlock()
	r.measure(r.rules)
	for _, one := range c.begin {
		if one.after == nil {
			r.come = append(r.come, one)
		} else {
			r.succeed(ctx, one)
		}
	}
	r.takeIfAll(ctx)
}

// linger has a rule that was let go deliver what waits beside the one that takes its place. One may do so of each name.
func (r *rereading) linger(old *rule) {
	r.mu.Lock()
	before := r.lingering[old.Name]
	if r.lingering == nil {
		r.lingering = map[string]*rule{}
	}
	r.lingering[old.Name] = old
	r.mu.Unlock()
	if before != nil && !hasEnded(before.done) {
		before.say("it was changed once more: what waits for the receiver that it had before the last time is given up after " + before.delivery().DrainTimeout.String())
		before.hurry()
	}
}

// succeed makes the stages of a rule when that has ended whose place it takes. What fails then is tried again, until the rule is
// let go: the others go on.
func (r *rereading) succeed(ctx context.Context, one *rule) {
	done := make(chan struct{})
	one.told, one.done = done, done
	own, stop := context.WithCancel(ctx)
	one.stop = stop
	r.running.Go(func() {
		defer close(done)
		defer stop()
		if r.beginAfter(own, one) {
			select {
			case r.ready <- one: // from here on it belongs to who takes it
				return
			case <-own.Done():
			}
		}
		r.undo([]*rule{one})
	})
}

// beginAfter reports whether the stages are made; if not, ctx has ended.
func (r *rereading) beginAfter(ctx context.Context, one *rule) bool {
	if one.unrun != nil {
		await(ctx, one.unrun.done, 0)
	}
	await(ctx, one.after.told, 0)
	if one.stateFile != "" {
		await(ctx, one.after.done, 0)
	} else {
		await(ctx, one.after.done, one.after.delivery().DrainTimeout)
	}
	return r.beginAtLast(ctx, one) && ctx.Err() == nil
}

// beginAtLast tries until the stages of a rule are made, and says what became of what happened meanwhile.
func (r *rereading) beginAtLast(ctx context.Context, one *rule) bool {
	since := time.Now()
	var backoff source.Backoff
	why := ""
	for ctx.Err() == nil {
		err := one.begin(ctx, r.ruleset)
		switch {
		case err == nil && why == "":
			return true
		case err == nil:
			one.say(fmt.Sprintf("it runs now. For %s it did not: %s", inSeconds(since), one.missed()))
			return true
		}
		_ = one.state.end(nil) // nothing was written
		one.state = nil
		if ctx.Err() != nil {
			break
		}
		if line := strings.Join(fail.Explain(err), "; "); line != why {
			why = line
			one.warn("it does not run yet: " + why + "; trying again")
		}
		if !backoff.Wait(ctx, err) {
			break
		}
	}
	if why != "" && !one.leaves.Load() { // it is the process that ends
		r.mu.Lock()
		r.failed = append(r.failed, sinkError{fmt.Errorf("rule %s has not run for %s: %s", one.Name, inSeconds(since), why)})
		r.mu.Unlock()
	}
	return false
}

func inSeconds(since time.Time) time.Duration { return time.Since(since).Round(time.Second) }

// missed says what a rule is told of what happened before it began.
func (one *rule) missed() string {
	if one.past() == nil {
		return "it begins with what exists"
	}
	return "of what happened meanwhile it is told what is different now, and not what was in between"
}

// comes takes a rule whose stages are made. One that was let go in the same moment does not run beside the one that takes its place.
func (r *rereading) comes(ctx context.Context, one *rule) {
	if one.leaves.Load() {
		r.undo([]*rule{one})
		return
	}
	r.come = append(r.come, one)
	r.takeIfAll(ctx)
}

// takeIfAll runs what has come when there is no more to come: what begins together shares a watch.
func (r *rereading) takeIfAll(ctx context.Context) {
	if r.waiting() == len(r.come) {
		r.takeReady(ctx)
	}
}

// takeReady runs what has come and does not wait for a watch to share.
func (r *rereading) takeReady(ctx context.Context) {
	come := r.come
	wait := slices.DeleteFunc(slices.Clone(come), func(one *rule) bool { return !r.awaits(one) })
	r.come = slices.DeleteFunc(slices.Clone(come), func(one *rule) bool { return slices.Contains(wait, one) })
	r.take(ctx)
	r.come = wait
}

// waiting is how many rules do not run yet.
func (r *rereading) waiting() (n int) {
	for _, one := range r.rules {
		if one.waits {
			n++
		}
	}
	return n
}

// take runs what has come. What only rules have asked for that were let go is watched no more when nobody is left who may ask for it.
func (r *rereading) take(ctx context.Context) {
	come := r.come
	if r.come = nil; ctx.Err() != nil {
		r.undo(come)
		return
	}
	watches := r.share(r.console, come, r.runs)
	r.mu.Lock()
	for _, one := range come {
		one.after, one.unrun, one.waits = nil, nil, false
	}
	r.watches = slices.Concat(r.watches, watches)
	switch {
	case come == nil:
	case r.runs:
		tuneMore(r.load())
	default:
		tuneRun(r.load())
	}
	r.mu.Unlock()
	for _, one := range come {
		r.launch(ctx, one)
	}
	for _, w := range watches {
		r.launchWatch(ctx, w)
	}
	if r.waiting() == 0 {
		r.dropUnasked()
	}
}

// load is how much goes on at once.
func (r *rereading) load() (n int) {
	for _, w := range r.watches {
		n += len(w.targets)
	}
	for _, one := range r.rules {
		n += one.parallel
	}
	return n
}

// forgetEnded forgets rules that were let go once they have ended.
func (r *rereading) forgetEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, all := range []map[string]*rule{r.leaving, r.lingering} {
		for name, one := range all {
			if hasEnded(one.done) && (one.after == nil || hasEnded(one.after.done)) {
				delete(all, name)
			}
		}
	}
}

func hasEnded(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
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

// notes are what is said of a rule before it is taken. They wait for that: who tries a file again says nothing twice.
type notes struct {
	mu   sync.Mutex
	next io.Writer
	said [][]byte
	told bool
}

// Write implements io.Writer, for whole lines.
func (n *notes) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told {
		return n.next.Write(line)
	}
	n.said = append(n.said, slices.Clone(line))
	return len(line), nil
}

// tell has them be said; nil has none.
func (n *notes) tell() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.said {
		_, _ = n.next.Write(line) // as of all that is said
	}
	n.said, n.told = nil, true
}
