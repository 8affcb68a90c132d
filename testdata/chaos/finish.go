package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalWithin is how long after the last write its line may take.
const finalWithin = 90 * time.Second

// finish stops the writers, and compares the truth with what was printed.
func (a *arena) finish(ctx context.Context) error {
	a.pause()
	a.writing.Wait()
	if err := a.awaitSentinels(ctx); err != nil {
		return err
	}
	all, err := readTruth(ctx, a.client, a.namespaces, "")
	if err != nil {
		return err
	}
	selected, err := readTruth(ctx, a.client, a.namespaces, a.selector())
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range a.writers {
		if w.Group == "" || !a.server.replaced.Load() {
			errs = append(errs, w.check(all))
		}
		a.figures.written += w.written
	}
	a.figures.serverKills = a.server.kills.Load()
	for _, d := range a.watchers {
		t := all
		if d.selects {
			t = selected
		}
		d.await(finalWithin, func() bool { return len(d.compareLocked(t)) == 0 })
	}
	// What comes too much would come before another last write.
	errs = append(errs, a.awaitSentinels(ctx))
	a.endRevival()
	a.reviving.Wait()
	for _, d := range a.watchers {
		errs = append(errs, d.stop(), a.compareTruth(ctx, d))
	}
	return errors.Join(errs...)
}

// compareTruth compares the truth with the record for good.
func (a *arena) compareTruth(ctx context.Context, d *dwatch) error {
	selector := ""
	if d.selects {
		selector = a.selector()
	}
	t, err := readTruth(ctx, a.client, a.namespaces, selector)
	if err != nil {
		return err
	}
	d.record.mu.Lock()
	defer d.record.mu.Unlock()
	d.wrong = append(d.wrong, d.compareLocked(t)...)
	if d.receiver != nil {
		missing, seen := a.proxy.witness.missing(d.name, d.delivered)
		for _, s := range missing {
			d.wrong = append(d.wrong, problem{lost, fmt.Sprintf("%s at %s was seen, and not delivered", s.uid, s.version)})
		}
		a.figures.seen += seen
	}
	a.figures.add(d)
	return nil
}

// awaitSentinels writes a last object for each writer and waits until each dwatch
// has printed it.
func (a *arena) awaitSentinels(ctx context.Context) error {
	for _, w := range a.writers {
		version, err := w.sentinel(ctx)
		if err != nil {
			return err
		}
		at := place{w.kind, w.namespace, sentinel}
		for _, d := range a.watchers {
			printed := func() bool {
				h := d.objects[d.living[at]]
				return h != nil && compare(h.version, version) >= 0
			}
			if !d.await(finalWithin, printed) {
				d.note(lost, "%v was not printed at %s within %v", at, version, finalWithin)
			}
		}
	}
	return nil
}

const sentinel = "sentinel"

// sentinel writes an object that the writer does not touch otherwise. It returns
// the resourceVersion.
func (w *writer) sentinel(ctx context.Context) (string, error) {
	u := w.object(sentinel)
	u.SetLabels(map[string]string{"chaos": w.label, "in": "yes"})
	u, err := w.client.Apply(ctx, sentinel, u, metav1.ApplyOptions{FieldManager: "chaos", Force: true})
	if err != nil {
		return "", fmt.Errorf("write the last %s: %w", w.kind, err)
	}
	return u.GetResourceVersion(), nil
}
