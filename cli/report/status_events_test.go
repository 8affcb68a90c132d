package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// TestOnStatus checks that OnStatus gets the changes of the watch in their order among the events, and Out the other lines.
func TestOnStatus(t *testing.T) {
	a, b, down := targetOf("as", false, "", ""), targetOf("bs", false, "", ""), errors.New("down")
	lost := []event.Event{{Type: event.Disconnected, Target: a, Err: down}, {Type: event.Disconnected, Target: b, Err: down}}
	one, changed := targetOf("bs", false, "", "one"), event.Event{Type: event.Modified, Target: a}
	failed := func(text string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: text}}
	}
	hook, etcd := failed("conversion webhook for v1, Kind=A failed: refused"), failed("etcdserver: request timed out")
	const where = "look at spec.conversion of the CustomResourceDefinition as, and whether its webhook answers\n"
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "as"}, "", errors.New("no"))
	for name, test := range map[string]struct {
		batch []event.Event
		want  string
	}{
		"nothing is missed": {
			append(lost, event.Event{Type: event.Reconnected, Target: a}, event.Event{Type: event.Reconnected, Target: b}),
			"! connection lost, trying again: down\n! reconnected, nothing missed\n",
		},
		"one target is relisted": {
			append(lost, event.Event{Type: event.Gap, Target: a}, event.Event{Type: event.Reconnected, Target: b}),
			"! connection lost, trying again: down\n! reconnected; relisted: only intermediate states may be missing\n",
		},
		"a target without a Disconnected event is relisted": {
			[]event.Event{lost[0], {Type: event.Gap, Target: b}, {Type: event.Reconnected, Target: a}},
			"! connection lost, trying again: down\n! bs: relisted: only intermediate states may be missing\n! reconnected\n",
		},
		"relisted without an outage": {
			[]event.Event{{Type: event.Gap, Target: a}},
			"! as: relisted: only intermediate states may be missing\n",
		},
		"one target is gone": {
			append(lost, event.Event{Type: event.Gone, Target: a}, event.Event{Type: event.Reconnected, Target: b}),
			"! connection lost, trying again: down\n! as: the server no longer has the resource; waiting for it\n! reconnected\n",
		},
		"two outages": {
			[]event.Event{lost[0], {Type: event.Gap, Target: a}, lost[0], {Type: event.Reconnected, Target: a}},
			"! connection lost, trying again: down\n! reconnected; relisted: only intermediate states may be missing\n" +
				"! connection lost, trying again: down\n! reconnected, nothing missed\n",
		},
		"the server can't read a target": {
			[]event.Event{{Type: event.Disconnected, Target: a, Err: hook}, {Type: event.Gap, Target: a}, {Type: event.Synced, Target: a, Count: 1}},
			"! as can't be read, trying again: conversion webhook for v1, Kind=A failed: refused; " + where + "! as can be read again\n! as: relisted: only intermediate states may be missing\n",
		},
		"the cause is known later": {
			[]event.Event{{Type: event.Disconnected, Target: a, Err: event.ErrSilentSync}, {Type: event.Disconnected, Target: a, Err: hook}},
			"! as: the server does not finish the initial events; listing what exists instead\n" +
				"! as can't be read, trying again: conversion webhook for v1, Kind=A failed: refused; " + where,
		},
		"the connection is lost after a vague cause": {
			[]event.Event{{Type: event.Disconnected, Target: a, Err: event.ErrSilentSync}, lost[0], {Type: event.Reconnected, Target: a}},
			"! as: the server does not finish the initial events; listing what exists instead\n! connection lost, trying again: down\n! reconnected, nothing missed\n",
		},
		"the list succeeds": {
			[]event.Event{{Type: event.Disconnected, Target: a, Err: event.ErrSilentSync}, {Type: event.Synced, Target: a, Count: 1}},
			"! as: the server does not finish the initial events; listing what exists instead\n",
		},
		"two targets have the same cause": {
			[]event.Event{{Type: event.Disconnected, Target: a, Err: etcd}, {Type: event.Disconnected, Target: b, Err: etcd}, {Type: event.Reconnected, Target: b}, {Type: event.Reconnected, Target: a}},
			"! as can't be read, trying again: etcdserver: request timed out\n! as can be read again\n",
		},
		"the connection is lost while the server can't read a target": {
			[]event.Event{{Type: event.Disconnected, Target: a, Err: hook}, lost[1], {Type: event.Reconnected, Target: b}},
			"! as can't be read, trying again: conversion webhook for v1, Kind=A failed: refused; " + where + "! connection lost, trying again: down\n! reconnected, nothing missed\n",
		},
		"credentials are rejected": {
			[]event.Event{{Type: event.Disconnected, Target: a, Err: apierrors.NewUnauthorized("no")}, {Type: event.Reconnected, Target: a}},
			"! connection lost, trying again: the server no longer accepts the credentials (Unauthorized), as when a token has expired\n! reconnected, nothing missed\n",
		},
		"an aggregated server": {
			[]event.Event{{Type: event.Disconnected, Target: targetOf("nodes.metrics.k8s.io", false, "", ""), Err: apierrors.NewServiceUnavailable("the server is currently unable to handle the request")}},
			"! nodes.metrics.k8s.io can't be read, trying again: the server is currently unable to handle the request; look at the APIService v1.metrics.k8s.io\n",
		},
		"events before and after an outage": {
			[]event.Event{changed, lost[0], {Type: event.Reconnected, Target: a}, changed},
			"MODIFIED\n! connection lost, trying again: down\n! reconnected, nothing missed\nMODIFIED\n",
		},
		"events of a relist": {
			[]event.Event{changed, lost[0], changed, {Type: event.Gap, Target: a}, changed},
			"MODIFIED\n! connection lost, trying again: down\n! reconnected; relisted: only intermediate states may be missing\nMODIFIED\nMODIFIED\n",
		},
		"arrived": {
			[]event.Event{{Type: event.Arrived, Target: a}, {Type: event.Synced, Target: a}},
			"! as: the server has the resource; watching it\nout: no as yet\n",
		},
		"denied": {
			[]event.Event{{Type: event.Denied, Target: a, Err: denied}, {Type: event.Denied, Target: a, Err: denied}, {Type: event.Synced, Target: a, Count: 1}},
			"! as: denied, trying again until it is allowed: as is forbidden: no\n! as: allowed\n",
		},
		"denied again after a loss": {
			[]event.Event{{Type: event.Denied, Target: a, Err: denied}, lost[0], {Type: event.Denied, Target: a, Err: denied}},
			"! connection lost, trying again: down\n! reconnected\n! as: denied, trying again until it is allowed: as is forbidden: no\n",
		},
		"a lost target is replaced by a wider one": {
			[]event.Event{{Type: event.Disconnected, Target: one, Err: down}, {Type: event.Arrived, Target: b}},
			"! connection lost, trying again: down\n! reconnected\n! bs: the server has the resource; watching it\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out prefixed
			var mu sync.Mutex // for out, because lines about permissions come from another goroutine
			at := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
			for i := range test.batch {
				test.batch[i].Time = at
			}
			next := event.SinkFunc(func(_ context.Context, batch []event.Event) error {
				mu.Lock()
				defer mu.Unlock()
				for i := range batch {
					if !batch[i].Type.IsStatus() {
						fmt.Fprintln(&out.Buffer, batch[i].Type)
					}
				}
				return nil
			})
			r := New(next, Options{Out: &out, OnStatus: func(when time.Time, text string) {
				if !when.Equal(at) {
					t.Errorf("got time %s, want that of the status event", when)
				}
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintln(&out.Buffer, "! "+text)
			}})
			if err := r.Deliver(t.Context(), test.batch); err != nil {
				t.Fatal(err)
			}
			r.Wait()
			want, got := strings.Split(test.want, "\n"), strings.Split(out.String(), "\n")
			if strings.Contains(test.want, "denied") { // lines about permissions are asynchronous
				slices.Sort(want)
				slices.Sort(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// prefixed is a Writer that prefixes lines, to distinguish Out from OnStatus.
type prefixed struct{ bytes.Buffer }

func (p *prefixed) Write(text []byte) (int, error) {
	p.Buffer.WriteString("out: " + string(text))
	return len(text), nil
}

// TestOnStatusManyTargets checks that an outage of many targets is reported in two lines, and that each event is passed on once.
func TestOnStatusManyTargets(t *testing.T) {
	var targets []event.Target
	var batch []event.Event
	for i := range maxListed + 1 {
		target := targetOf(fmt.Sprint("r", i), false, "", "")
		targets = append(targets, target)
		batch = append(batch, event.Event{Type: event.Disconnected, Target: target, Err: errors.New("down")})
	}
	for _, target := range targets {
		batch = append(batch, event.Event{Type: event.Modified, Target: target}, event.Event{Type: event.Gap, Target: target})
	}
	var notes []string
	passed := 0
	r := New(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		passed += len(batch)
		return nil
	}), Options{Out: &bytes.Buffer{}, OnStatus: func(_ time.Time, text string) { notes = append(notes, text) }})
	r.AnnounceTargets(targets, "")
	if err := r.Deliver(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if passed != len(batch) {
		t.Errorf("%d of %d events were passed on", passed, len(batch))
	}
	if len(notes) != 2 || notes[1] != "reconnected; "+relisted {
		t.Errorf("%q", notes)
	}
}

// TestStatus checks Status after each of several status events.
func TestStatus(t *testing.T) {
	a, b := targetOf("as", false, "", ""), targetOf("bs", false, "", "")
	one := targetOf("bs", false, "", "one")
	now := time.Now()
	r := New(discard, Options{Out: &bytes.Buffer{}})
	if got, want := r.Status(), "waiting for a resource to watch; no event yet"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.AnnounceTargets([]event.Target{a, one}, "")
	for _, step := range []struct {
		event event.Event
		want  string
	}{
		{event.Event{Type: event.Synced, Target: a}, "connecting; 2 resources; no event yet"},
		{event.Event{Type: event.Synced, Target: one}, "connected; 2 resources; no event yet"},
		{event.Event{Type: event.Added, Target: a, Time: now.Add(-2 * time.Hour)}, "connected; 2 resources; last event 120m ago"},
		{event.Event{Type: event.Disconnected, Target: a}, "connection lost, trying again; 2 resources; last event 120m ago"},
		{event.Event{Type: event.Heartbeat}, "connection lost, trying again; 2 resources; last event 120m ago"},
		{event.Event{Type: event.Gap, Target: a}, "connected; 2 resources; last event 120m ago"},
		{event.Event{Type: event.Denied, Target: a}, "connected; 2 resources, 1 of them denied; last event 120m ago"},
		{event.Event{Type: event.Arrived, Target: b}, "connecting; 2 resources, 1 of them denied; last event 120m ago"},
		{event.Event{Type: event.Gone, Target: b}, "denied, trying again; 1 resource; last event 120m ago"},
		{event.Event{Type: event.Gone, Target: a}, "waiting for a resource to watch; last event 120m ago"},
	} {
		step.event.Err = errors.New("down")
		if err := r.Deliver(t.Context(), []event.Event{step.event}); err != nil {
			t.Fatal(err)
		}
		if got := r.Status(); got != step.want {
			t.Errorf("after %s: %q, want %q", step.event.Type, got, step.want)
		}
	}
}
