package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/resume"
)

// State is the file of --state. Methods that a run without --state calls accept nil.
type State struct {
	file   *resume.File
	stage  *resume.Stage
	path   string
	opened fs.FileInfo    // the file at the path when it was opened
	outbox *resume.Outbox // events that wait for a receiver, or nil
	// purpose is a note for a file that was used for stdout and is now used for a receiver, or the other way round.
	purpose string
	waiting int // events of earlier runs in the outbox
	// handover moves objects that belong to other shards now. It is nil if there are none.
	handover *resume.Handover
	digests  *change.Digester // for changed() in conditions, or nil
}

// StateError returns a usage error, which no restart repairs, unless the disk is at fault.
func StateError(err error) error {
	if IsDiskError(err) {
		return LossError{err}
	}
	return fail.Usage(err)
}

// IsDiskError reports whether the disk is full or broken, so that another run may succeed.
func IsDiskError(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO)
}

// openState opens the file of --state for one cluster. It returns nil without --state.
func (r *Run) openState(ctx context.Context, s *Session) (*State, error) {
	if r.cfg.StateFile == "" {
		return nil, nil
	}
	cluster, err := s.Cluster.Identity(ctx)
	if err != nil {
		return nil, fail.FromServer(s.Cluster.Host, err)
	}
	file, err := r.openStateFile(ctx, resume.Header{Server: s.Cluster.Host, Cluster: cluster, Selection: s.Plan.Selection})
	if err != nil {
		return nil, err
	}
	return r.newState(file)
}

// openStateFile opens the file. With --lease the replica that led before may still have it open: then this waits.
func (r *Run) openStateFile(ctx context.Context, h resume.Header) (*resume.File, error) {
	for reported := false; ; reported = true {
		file, err := resume.Open(r.cfg.StateFile, h)
		switch {
		case err == nil && r.term != nil:
			return file, r.enterTerm(file)
		case err == nil:
			return file, nil
		case r.term == nil || !errors.Is(err, resume.ErrInUse):
			return nil, StateError(err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !reported:
			r.console.Say(output.EscapeLine(r.cfg.StateFile) + " is in use by another dwatch, which does not hold the Lease: waiting for it to end")
		}
	}
}

// enterTerm writes the term of the lease into the file and says whose term the file is from.
func (r *Run) enterTerm(file *resume.File) error {
	now := resume.Term{Lease: string(r.term.LeaseUID), Number: r.term.Number}
	before, err := file.SwapTerm(now)
	if err != nil {
		file.Close()
		return LossError{err}
	}
	text := ""
	switch path := output.EscapeLine(r.cfg.StateFile); {
	case file.IsNew():
		text = path + " is new: existing objects are sent first"
		if now.Number > 0 {
			text += "; it does not contain earlier deletions"
		}
	case before == now:
	case before == resume.Term{Lease: now.Lease, Number: now.Number - 1}:
		text = path + " is from the previous leader: continuing with its undelivered events"
	case before.Lease == "":
		text = path + " was written without --lease: continuing from it"
	case before.Lease != now.Lease:
		text = path + " is from another or recreated Lease: changes since then are sent, although other replicas may have sent them"
	default:
		text = path + " is from an earlier term: changes since then are sent, although other replicas may have sent them; deletions of objects that it does not contain are not sent"
	}
	if text != "" {
		r.console.Say(text)
	}
	return nil
}

// openSharedState opens the file of --state for several clusters, before any of them has answered.
func (r *Run) openSharedState() (*State, error) {
	if r.cfg.StateFile == "" {
		return nil, nil
	}
	file, err := resume.OpenMultiCluster(r.cfg.StateFile)
	if err != nil {
		return nil, StateError(err)
	}
	return r.newState(file)
}

func (r *Run) newState(file *resume.File) (_ *State, err error) {
	s := &State{file: file, path: r.cfg.StateFile}
	if s.opened, err = os.Stat(s.path); err == nil {
		err = s.openOutbox(r.needs.Outbox, r.cfg.Print.Format)
	}
	if err == nil {
		err = s.keepDigests(&r.cfg)
	} else {
		err = StateError(err)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	if s.outbox != nil { // otherwise the file contains no objects
		r.console.WarnIfReadable("--state", s.path)
	}
	return s, nil
}

// keepDigests makes the file keep digests of the fields of changed(), so that a change between two runs is noticed.
func (s *State) keepDigests(c *Config) error {
	var patterns change.Patterns
	for _, condition := range c.Conditions() {
		patterns = append(patterns, condition.ChangedPatterns()...)
	}
	if len(patterns) == 0 {
		return nil
	}
	return s.file.EnableDigests(func(key []byte) func(event.Object) string {
		s.digests = &change.Digester{Key: key, Patterns: patterns, Noise: c.Print.Compare.Noise}
		return func(o event.Object) string { return s.digests.DigestObject(o.Raw()) }
	})
}

func (s *State) digester() *change.Digester {
	if s == nil {
		return nil
	}
	return s.digests
}

// openOutbox opens the outbox if there is a receiver. Otherwise nothing may be waiting in it.
func (s *State) openOutbox(delivers bool, format string) (err error) {
	had := s.file.HadReceiver()
	switch {
	case !delivers:
		if had {
			s.purpose = "; its events were delivered to a receiver, and are not printed"
		}
		return s.file.RemoveOutbox()
	case !had && !s.file.IsNew():
		s.purpose = "; its events were printed, and are not delivered"
	}
	s.outbox, err = s.file.OpenOutbox(format)
	return err
}

// addCluster continues with what the file has of a cluster, and extends the plan by targets that only an earlier run watched. note
// says so.
func (s *State) addCluster(name, uid string, at *Session) (note string, err error) {
	isNew, err := s.file.AddCluster(name, resume.Header{Server: at.Cluster.Host, Cluster: uid, Selection: at.Plan.Selection})
	switch {
	case err != nil:
		return "", StateError(err)
	case isNew:
		return "", nil
	}
	if at.Plan.DynamicResources {
		var present []event.Target
		for _, t := range at.Plan.Targets {
			t.Cluster = name
			present = append(present, t)
		}
		for _, t := range s.file.OrphanedTargets(name, present) {
			t.Cluster = ""
			at.Plan.Targets = append(at.Plan.Targets, t)
		}
	}
	return ", carrying on from " + s.path + s.purpose, nil
}

// historyOf returns what earlier runs reported of a cluster. It holds access while it reads the file. nil if there is no file.
func (s *State) historyOf(cluster string, access sync.Locker) event.HistoryFunc {
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

// newStage returns a Sink before next that notes in the file what next has taken. fail is called when the file cannot be written.
// buffered is set if stages before it hold back events.
func (s *State) newStage(next event.Sink, fail func(error), buffered bool) event.Sink {
	s.stage = s.file.NewStage(next, fail)
	s.stage.UpstreamBuffers = buffered
	return s.stage
}

// History returns what earlier runs reported, or nil if there is no file.
func (s *State) History() event.HistoryFunc {
	if s == nil {
		return nil
	}
	return s.file.History
}

// OrphanedTargets are the targets that an earlier run watched and p does not have. There are none unless the resources that the
// arguments name may come and go.
func (s *State) OrphanedTargets(p *plan.Plan) []event.Target {
	if s == nil || !p.DynamicResources {
		return nil
	}
	return s.file.OrphanedTargets("", p.Targets)
}

// Note says that the run continues from the file.
func (s *State) Note() string {
	if s == nil || s.file.IsNew() {
		return ""
	}
	note := ", carrying on from " + s.path + s.purpose
	switch {
	case s.waiting == 1:
		note += "; 1 event in it waits to be delivered"
	case s.waiting > 1:
		note += fmt.Sprintf("; %d events in it wait to be delivered", s.waiting)
	}
	return note
}

// Path is the path of the file.
func (s *State) Path() string { return s.path }

// Outbox contains the events that wait for a receiver. It is nil without Requirements.Outbox.
func (s *State) Outbox() *resume.Outbox { return s.outbox }

// IsNew reports whether no earlier run has written the file.
func (s *State) IsNew() bool { return s.file.IsNew() }

// SetWaiting notes how many events of earlier runs are in the outbox.
func (s *State) SetWaiting(events int) { s.waiting = events }

// CheckFormat returns an error if events in another format wait in the outbox.
func (s *State) CheckFormat(format string) error { return s.file.CheckOutboxEncoding(format) }

// Check returns an error if another run cannot continue from the file.
func (s *State) Check() error { return cmp.Or(s.checkPath(), s.file.CheckIntegrity()) }

// checkPath returns an error if the path now leads to another file.
func (s *State) checkPath() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(s.opened, info) {
		return fmt.Errorf("state file %s was removed or replaced while dwatch ran: the next run cannot continue from this one, and the events that waited in it are lost", output.EscapeLine(s.path))
	}
	return nil // any other error says nothing about the file
}

// Close closes the file after a run that ended with err, and returns what the run with its file ended with.
func (s *State) Close(err error) error {
	if s == nil {
		return err
	}
	var unwritten error
	if s.stage != nil {
		unwritten = s.stage.Close()
	}
	if unwritten = cmp.Or(unwritten, s.file.Close(), s.checkPath()); unwritten != nil {
		return LossError{unwritten}
	}
	return err
}
