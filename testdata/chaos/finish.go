package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalWithin is how long dwatch may take to print the last write.
const finalWithin = 90 * time.Second

// finish stops the writers and every dwatch, and compares the records with the objects in etcd.
func (a *arena) finish(ctx context.Context) error {
	a.pause()
	a.writing.Wait()
	var errs []error
	for _, s := range a.sites {
		errs = append(errs, s.settle(ctx))
	}
	a.endRevival()
	a.reviving.Wait()
	for _, d := range a.watchers {
		for _, one := range d.all() {
			errs = append(errs, one.stop())
		}
	}
	for _, s := range a.sites {
		for _, d := range s.watchers {
			errs = append(errs, s.compareTruth(ctx, d))
		}
		s.figures.serverKills = s.server.kills.Load()
		s.figures.peak, s.figures.busiest, s.figures.requests = s.proxy.counter.peak()
	}
	return errors.Join(errs...)
}

// settle waits until each record agrees with the objects in etcd. It does not report a record that never does;
// compareTruth does.
func (s *site) settle(ctx context.Context) error {
	if err := s.awaitSentinels(ctx); err != nil {
		return err
	}
	all, err := readTruth(ctx, s.client, s.namespaces, "")
	if err != nil {
		return err
	}
	selected, err := readTruth(ctx, s.client, s.namespaces, s.selector())
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range s.writers {
		if w.Group == "" || !s.server.replaced.Load() {
			errs = append(errs, w.check(all))
		}
		s.figures.written += w.written
	}
	for _, d := range s.watchers {
		r, t := d.records[s.name], all
		if r.selects {
			t = selected
		}
		r.await(finalWithin, func() bool { return len(r.compareLocked(t)) == 0 })
	}
	// Surplus lines would be printed before these sentinels.
	return errors.Join(append(errs, s.awaitSentinels(ctx))...)
}

// compareTruth compares the record of a dwatch with the objects in etcd, and adds the differences to the figures.
func (s *site) compareTruth(ctx context.Context, d *dwatch) error {
	r, selector := d.records[s.name], ""
	if r.selects {
		selector = s.selector()
	}
	t, err := readTruth(ctx, s.client, s.namespaces, selector)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, r.compareLocked(t)...)
	if d.receiver != nil {
		for n, one := range d.all() {
			s.askWitness(one.name, shard{n + 1, s.shards}, r)
		}
	}
	s.figures.add(d, r)
	return nil
}

// askWitness reports the states that a process has received and that were not delivered.
func (s *site) askWitness(process string, own shard, r *record) {
	missing, seen := s.proxy.witness.missing(process, own, r.delivered)
	s.figures.seen += seen
	if s.replicas > 1 { // may be missing between two leaders
		s.figures.between += len(missing)
		return
	}
	for _, m := range missing {
		r.wrong = append(r.wrong, problem{lost, fmt.Sprintf("%s at %s was seen, and not delivered", m.uid, m.version)})
	}
}

// awaitSentinels writes the sentinel of each writer, and waits until each dwatch has printed it.
func (s *site) awaitSentinels(ctx context.Context) error {
	for _, w := range s.writers {
		version, err := w.sentinel(ctx)
		if err != nil {
			return err
		}
		at := place{w.kind, w.namespace, sentinel}
		for _, d := range s.watchers {
			r := d.records[s.name]
			printed := func() bool {
				h := r.objects[r.living[at]]
				return h != nil && compare(h.version, version) >= 0
			}
			if !r.await(finalWithin, printed) {
				r.note(lost, "%v was not printed at %s within %v", at, version, finalWithin)
			}
		}
	}
	return nil
}

const sentinel = "sentinel"

// sentinel writes an object that the writer's random changes do not touch. It returns the resourceVersion.
func (w *writer) sentinel(ctx context.Context) (string, error) {
	u := w.object(sentinel)
	u.SetLabels(map[string]string{"chaos": w.label, "in": "yes"})
	u, err := w.client.Apply(ctx, sentinel, u, metav1.ApplyOptions{FieldManager: "chaos", Force: true})
	if err != nil {
		return "", fmt.Errorf("write the last %s: %w", w.kind, err)
	}
	return u.GetResourceVersion(), nil
}
