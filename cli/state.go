package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/resume"
)

// state is the file of --state.
type state struct {
	file   *resume.File
	stage  *resume.Stage
	path   string
	opened fs.FileInfo    // what was at the path then
	outbox *resume.Outbox // what waits for the receiver; nil: there is none
	// changed is what there is to say of a file that was for stdout, and is for a receiver
	// now, or the other way round.
	changed string
	waiting int // events from earlier runs
	// handover is of what is of other shards now; nil: nothing is.
	handover *resume.Handover
}

// unopened is why there is no state: wrong usage, which no restart mends, unless it is the disk.
func unopened(err error) error {
	if isOfDisk(err) {
		return sinkError{err}
	}
	return fail.Usage(err)
}

// openState opens the file of --state; nil if there is none. What is wrong with the
// file at the start is wrong usage.
func (w *watching) openState(ctx context.Context) (*state, error) {
	if w.stateFile == "" {
		return nil, nil
	}
	cluster, err := w.Identity(ctx)
	if err != nil {
		return nil, fail.FromServer(w.Host, err)
	}
	file, err := w.openFile(ctx, resume.Header{Server: w.Host, Cluster: cluster, Selection: w.plan.Selection})
	if err != nil {
		return nil, err
	}
	return w.newState(file)
}

// openFile opens the file for one cluster. Of several replicas the one that led before may have it yet.
func (w *watching) openFile(ctx context.Context, h resume.Header) (*resume.File, error) {
	for said := false; ; said = true {
		file, err := resume.Open(w.stateFile, h)
		switch {
		case err == nil && w.term != nil:
			return file, w.enter(file)
		case err == nil:
			return file, nil
		case w.term == nil || !errors.Is(err, resume.ErrInUse):
			return nil, unopened(err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !said:
			w.say(output.EscapeLine(w.stateFile) + " is in use by another dwatch, which does not hold the Lease: waiting for it to end")
		}
	}
}

// enter has a file be that of the Term from now on, and says of which it was.
func (w *watching) enter(file *resume.File) error {
	now := resume.Term{Lease: string(w.term.LeaseUID), Number: w.term.Number}
	before, err := file.SwapTerm(now)
	if err != nil {
		file.Close()
		return sinkError{err}
	}
	what := ""
	switch path := output.EscapeLine(w.stateFile); {
	case file.IsNew():
		what = path + " is new: the last states of what is there are told"
	case before == now:
	case before == resume.Term{Lease: now.Lease, Number: now.Number - 1}:
		what = path + " is that of who led before: it goes on with what that one has not delivered"
	case before.Lease == "":
		what = path + " was written without --lease: it goes on with that"
	case before.Lease != now.Lease:
		what = path + " is of a Lease that is another one now, or was made anew: what has changed since then is told, although others may have told it"
	default:
		what = path + " is from an earlier term: others have led since, and what has changed since then is told, although they may have told it"
	}
	if what != "" {
		w.say(what)
	}
	return nil
}

// openSeveralState is openState for several clusters, of which none has answered yet.
func (w *watching) openSeveralState() (*state, error) {
	if w.stateFile == "" {
		return nil, nil
	}
	file, err := resume.OpenMultiCluster(w.stateFile)
	if err != nil {
		return nil, unopened(err)
	}
	return w.newState(file)
}

func (w *watching) newState(file *resume.File) (_ *state, err error) {
	s := &state{file: file, path: w.stateFile}
	if s.opened, err = os.Stat(s.path); err == nil {
		_, delivers := w.to.(*delivery)
		err = s.openOutbox(delivers, w.print.Format)
	}
	if err != nil {
		file.Close()
		return nil, unopened(err)
	}
	if err := w.keepDigests(file); err != nil {
		file.Close()
		return nil, err
	}
	if s.outbox != nil { // else it has no contents
		w.warnReadable("--state", s.path)
	}
	return s, nil
}

// keepDigests has the file keep what changed() looks at, as digests, so that it is known of what
// happens between two runs.
func (w *watching) keepDigests(file *resume.File) error {
	var patterns change.Patterns
	for _, c := range w.conditions() {
		patterns = append(patterns, c.ChangedPatterns()...)
	}
	if len(patterns) == 0 {
		return nil
	}
	return file.EnableDigests(func(key []byte) func(event.Object) string {
		w.digests = &change.Digester{Key: key, Patterns: patterns, Noise: w.print.Compare.Noise}
		return func(o event.Object) string { return w.digests.DigestObject(o.Raw()) }
	})
}

// openOutbox has the file keep what waits for the receiver, if there is one. Where there
// is none, nothing may wait for one.
func (s *state) openOutbox(delivers bool, format string) (err error) {
	had := s.file.HadReceiver()
	switch {
	case !delivers:
		if had {
			s.changed = "; what is in it was delivered to a receiver, and is not printed"
		}
		return s.file.RemoveOutbox()
	case !had && !s.file.IsNew():
		s.changed = "; what is in it was printed, and is not delivered"
	}
	s.outbox, err = s.file.OpenOutbox(format)
	return err
}

// join carries on from the part of a cluster, for what is planned there: that goes on with the targets
// that an earlier run watched. It returns what there is to say of it.
func (s *state) join(cluster, uid string, at *session) (note string, err error) {
	fresh, err := s.file.AddCluster(cluster, resume.Header{Server: at.Host, Cluster: uid, Selection: at.plan.Selection})
	switch {
	case err != nil:
		return "", unopened(err)
	case fresh:
		return "", nil
	}
	if at.plan.DynamicResources {
		var present []event.Target
		for _, t := range at.plan.Targets {
			t.Cluster = cluster
			present = append(present, t)
		}
		for _, t := range s.file.OrphanedTargets(cluster, present) {
			t.Cluster = ""
			at.plan.Targets = append(at.plan.Targets, t)
		}
	}
	return ", carrying on from " + s.path + s.changed, nil
}

// pastOf has what earlier runs reported at a cluster. access keeps others from the file meanwhile.
func (s *state) pastOf(cluster string, access sync.Locker) event.HistoryFunc {
	if s == nil {
		return nil
	}
	return func(t event.Target, take func(event.ReportedObject)) (bool, error) {
		access.Lock()
		defer access.Unlock()
		t.Cluster = cluster
		return s.file.History(t, take)
	}
}

// around puts the file around a Sink. failed is called when it can't be written. held: events are held before.
func (s *state) around(next event.Sink, failed func(error), held bool) event.Sink {
	if s == nil {
		return next
	}
	s.stage = s.file.NewStage(next, failed)
	s.stage.UpstreamBuffers = held
	return s.stage
}

// past has what earlier runs reported; nil if there is no file.
func (s *state) past() event.HistoryFunc {
	if s == nil {
		return nil
	}
	return s.file.History
}

// orphans returns the targets that an earlier run watched and p does not have.
// There are none unless what the arguments name may come and go.
func (s *state) orphans(p *plan.Plan) []event.Target {
	if s == nil || !p.DynamicResources {
		return nil
	}
	return s.file.OrphanedTargets("", p.Targets)
}

func (s *state) note() string {
	if s == nil || s.file.IsNew() {
		return ""
	}
	note := ", carrying on from " + s.path + s.changed
	switch {
	case s.waiting == 1:
		note += "; 1 event in it waits to be delivered"
	case s.waiting > 1:
		note += fmt.Sprintf("; %d events in it wait to be delivered", s.waiting)
	}
	return note
}

// checkThere returns an error if what is at the path is not the file any more: what was
// kept in it can't be found by another run.
func (s *state) checkThere() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(s.opened, info) {
		return fmt.Errorf("state file %s was removed or replaced while dwatch ran: the next run does not carry on from this one, and what waited in it is lost", output.EscapeLine(s.path))
	}
	return nil // or who knows
}

// end closes the file, after a run that ended with err, and returns what the run
// with its file ended with.
func (s *state) end(err error) error {
	if s == nil {
		return err
	}
	var unwritten error
	if s.stage != nil {
		unwritten = s.stage.Close()
	}
	if unwritten = cmp.Or(unwritten, s.file.Close(), s.checkThere()); unwritten != nil {
		return sinkError{unwritten}
	}
	return err
}
