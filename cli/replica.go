package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/cli/metrics"
	"dwatch/output"
	"dwatch/output/deliver"
	"dwatch/watcher/event"
	"dwatch/watcher/filter"
)

// replica is a run that may be one of several, of which one leads. It is begun anew for each Term, and for each time that it stands
// by.
type replica interface {
	// in returns it as it is to begin, in a Term, or with nil so that nothing of what it watches goes anywhere.
	in(term *lease.Term) (replica, error)
	// runAt does what is asked for, at a cluster, until ctx ends.
	runAt(ctx context.Context, c *console, k *cluster.Cluster) error
	// measure has m know how it is from now on.
	measure(m *metrics.Replica)
	// learn takes over what a run that it has begun has learned.
	learn(begun replica)
	// whenAskedAgain has a signal that asks for something be that, and not the end, also while no run is there to do it.
	whenAskedAgain(c *console) (stop func())
	// check returns what is wrong with where it delivers to.
	check(c *console) error
	// wants are the rights that it takes.
	wants() []wanted
}

// checkLed finds what a replica has no use for.
func (s *sendFlags) checkLed() (wrong error) {
	if !s.lease.IsSet() {
		return nil
	}
	s.all.Visit(func(f *pflag.Flag) {
		if wrong == nil && whyNotWithRules(f.Name) != "" {
			wrong = fmt.Errorf("--lease is for what goes on, and looks at now: it does not go with --%s", f.Name)
		}
	})
	return wrong
}

// led is a run of several replicas.
func (s *sendFlags) led(of runner) *leased {
	var r replica
	switch of := of.(type) {
	case *ruleset:
		r = &ledRules{of}
	case *watching:
		r = &ledOne{of}
	}
	return &leased{of: of, replica: r, lease: s.lease, connection: &s.connection, listen: s.w.listen, keeps: s.w.stateFile != ""}
}

// leadIn has a run, as it was parsed, be in a Term; nil: it stands by.
func leadIn(w *watching, term *lease.Term) {
	d := w.to.(*delivery)
	w.term, d.term, d.idle = term, term, term == nil
	if d.idle { // it watches the same, and holds nothing for it
		w.stateFile, d.stateFile, d.DeadLetters, d.chat = "", "", "", nil
		w.settle, w.where, w.filter, w.needs = flags.Settle{}, nil, filter.Options{}, needs{}
	}
}

// nowhere is for a run that stands by.
func (d *delivery) nowhere() event.Sink {
	d.queue = deliver.New(nil, deliver.Options{})
	d.queue.Drain()
	return event.SinkFunc(func(context.Context, []event.Event) error { return nil })
}

// ledOne is a replica of one command line.
type ledOne struct{ *watching }

func (r *ledOne) in(term *lease.Term) (replica, error) {
	own, d := *r.watching, r.to.(*delivery)
	own.to = &delivery{Delivery: d.Delivery, chat: d.chat, stateFile: d.stateFile}
	leadIn(&own, term)
	return &ledOne{&own}, nil
}

func (r *ledOne) runAt(ctx context.Context, c *console, k *cluster.Cluster) error {
	if err := r.to.prepare(c); err != nil {
		return err
	}
	defer r.to.close()
	return r.atCluster(ctx, c, k)
}

func (r *ledOne) measure(m *metrics.Replica) {
	r.metrics = r.newMetrics(r.verify > 0)
	m.SetRun(r.metrics, r.term.IsHeld)
}

func (r *ledOne) learn(replica) {}

func (r *ledOne) whenAskedAgain(*console) (stop func()) { return func() {} }

func (r *ledOne) check(c *console) error {
	d := r.to.(*delivery)
	if err := d.checkLetters(deliver.DeadLetterFile.CheckPath); err != nil {
		return err
	}
	if err := d.newReceiver(c); err != nil {
		return fail.Usage(err)
	}
	d.close()
	return nil
}

// ledRules is a replica of rules.
type ledRules struct{ *ruleset }

func (r *ledRules) in(term *lease.Term) (_ replica, err error) {
	own := &ruleset{connection: r.connection, file: r.file, text: r.text, verify: r.verify, term: term}
	if term != nil {
		own.stateDir = r.stateDir
	}
	own.parse = func(path string, text []byte) ([]*rule, error) {
		all, err := r.parse(path, text)
		for _, one := range all {
			leadIn(one.watching, term)
		}
		return all, err
	}
	own.rules, err = own.parse(output.EscapeLine(r.file), r.text)
	return &ledRules{own}, err
}

func (r *ledRules) runAt(ctx context.Context, c *console, k *cluster.Cluster) error {
	return r.within(c, func(start difference) error { return r.atCluster(ctx, k, start) })
}

func (r *ledRules) measure(m *metrics.Replica) {
	r.beMeasured()
	m.SetRulesRun(r.measured, r.term.IsHeld)
}

func (r *ledRules) learn(begun replica) { r.text = begun.(*ledRules).text }

func (r *ledRules) check(c *console) error { return checkReceivers(r.rules, c) }
