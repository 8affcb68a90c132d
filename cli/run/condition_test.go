package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/mapper"
	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/expression"
	"dwatch/watcher/until"
)

var jobsTarget = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "Job", true), Namespace: "n"}

// newTestCondition returns a conditionStage before a Sink, until a phase is done.
func newTestCondition(t *testing.T, next event.Sink) (*conditionStage, *bytes.Buffer) {
	t.Helper()
	x, err := expression.Compile("object.phase == 'done'")
	if err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	c := &console.Console{Reports: said, Err: io.Discard, Started: time.Now()}
	session := &Session{Console: c, Mapper: mapper.New(nil), Plan: &plan.Plan{Targets: []event.Target{jobsTarget}}}
	r := &Run{console: c, session: session, scope: session.Scope()}
	r.cfg.Ending = flags.StopConditions{Until: flags.Condition{Flag: "until", Text: "done", Expression: x}, Timeout: time.Minute}
	// Without the poller for causes, which needs a server.
	quiet := *c
	quiet.Reports = io.Discard
	r.console = &quiet
	return r.newConditionStage(t.Context(), next, func(error) {}), said
}

func jobEvent(t *testing.T, kind event.Type, name, phase string) event.Event {
	o := testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"n"},"phase":%q}`, name, phase))
	return event.Event{Type: kind, Target: jobsTarget, Object: o}
}

func discard(context.Context, []event.Event) error { return nil }

// TestProgress: progress of several objects is reported once a second.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, said := newTestCondition(t, event.SinkFunc(discard))
		w.progress = true
		text := func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return said.String()
		}
		deliver := func(events ...event.Event) {
			if err := w.Deliver(t.Context(), events); err != nil {
				t.Fatal(err)
			}
		}
		steps := []struct {
			change event.Event
			lines  int // that have been printed
		}{
			{jobEvent(t, event.Modified, "c", "done"), 1},
			{jobEvent(t, event.Modified, "b", "done"), 2}, // one is left
		}
		deliver(jobEvent(t, event.Added, "a", "new"), jobEvent(t, event.Added, "b", "new"), jobEvent(t, event.Added, "c", "new"), event.Event{Type: event.Synced, Target: jobsTarget, Count: 3})
		for _, s := range steps {
			deliver(s.change)
			if got := strings.Count(text(), "\n"); got != s.lines {
				t.Errorf("%d lines, want %d: %s", got, s.lines, text())
			}
		}
		deliver(jobEvent(t, event.Added, "d", "new"))
		before := strings.Count(text(), "\n")
		time.Sleep(2 * reportInterval)
		synctest.Wait()
		if got := text(); strings.Count(got, "\n") != before+1 || !strings.HasSuffix(got, ", and 1 more\n") {
			t.Errorf("after a while: %s", got)
		}
		deliver(jobEvent(t, event.Added, "e", "new"))
		deliver(jobEvent(t, event.Added, "f", "new"))
		w.end(t.Context(), io.EOF)
		all := text()
		time.Sleep(2 * reportInterval)
		synctest.Wait()
		if text() != all {
			t.Errorf("after the end: %s", text())
		}
	})
}

// TestWaitEnd: what a run with --until ends with.
func TestWaitEnd(t *testing.T) {
	late, end := context.WithTimeoutCause(t.Context(), 0, ErrTimeout)
	defer end()
	gone, leave := context.WithCancelCause(t.Context())
	leave(console.ErrReaderGone)
	asked, ask := context.WithCancel(t.Context())
	ask()
	pipe := LossError{console.WriteError{Err: syscall.EPIPE}}
	full := LossError{console.WriteError{Err: syscall.ENOSPC}}
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		code int
		said string // a part of the error
	}{
		"holds":                            {t.Context(), &until.Outcome{ObjectCount: 2}, fail.ExitOK, ""},
		"holds as the time is over":        {late, &until.Outcome{ObjectCount: 2}, fail.ExitOK, ""},
		"holds, and nobody reads":          {gone, &until.Outcome{ObjectCount: 2, Undelivered: pipe}, fail.ExitOK, ""},
		"holds, and the disk is full":      {t.Context(), &until.Outcome{ObjectCount: 2, Undelivered: full}, fail.ExitFailed, "write to stdout: no space"},
		"fails, and nobody reads":          {gone, &until.Outcome{Failed: true, Event: jobEvent(t, event.Deleted, "a", "x"), Undelivered: pipe}, fail.ExitFailIf, "jobs/a deleted"},
		"a broken pipe":                    {t.Context(), pipe, fail.ExitFailed, "the reader closed the pipe before --until done held"},
		"a broken pipe, after time was up": {late, pipe, fail.ExitTimeout, "--timeout 1m0s passed, and --until done does not hold: jobs: "},
		"the reader is gone":               {gone, nil, fail.ExitFailed, "the reader closed the pipe before --until done held"},
		"the disk is full":                 {late, full, fail.ExitFailed, "write to stdout: no space"},
		"timeout":                          {late, nil, fail.ExitTimeout, "--timeout 1m0s passed, and --until done does not hold: jobs: "},
		"interrupted":                      {asked, nil, fail.ExitFailed, "interrupted before --until done held: jobs: "},
		"an error":                         {t.Context(), io.ErrUnexpectedEOF, fail.ExitFailed, "unexpected EOF"},
	} {
		w, _ := newTestCondition(t, event.SinkFunc(discard))
		w.run.cfg.Ending.FailIf = flags.Condition{Flag: "fail-if", Text: "bad"}
		err := test.err
		if err != nil && name != "an error" {
			err = markLoss(event.SinkFunc(func(context.Context, []event.Event) error { return err })).Deliver(t.Context(), nil)
		}
		got := EndOf(test.ctx, w.end(test.ctx, err), false)
		if code := fail.ExitCode(got); code != test.code || test.code != fail.ExitOK && !strings.Contains(got.Error(), test.said) {
			t.Errorf("%s: %d, %v, want %d, %s", name, code, got, test.code, test.said)
		}
		if test.code != fail.ExitOK && console.IsReaderGone(got) {
			t.Errorf("%s: %v would be silent", name, got)
		}
	}
}

// TestUnanswered: before the server has answered nothing holds, whatever the end.
func TestUnanswered(t *testing.T) {
	asked, ask := context.WithCancel(t.Context())
	ask()
	w, _ := newTestCondition(t, nil)
	if err := EndOf(asked, unanswered(asked, &w.run.cfg.Ending, context.Canceled), false); fail.ExitCode(err) != fail.ExitFailed {
		t.Errorf("interrupted: %v", err)
	}
	if err := unanswered(asked, &w.run.cfg.Ending, nil); err != nil {
		t.Errorf("decided: %v", err)
	}
	if err := unanswered(t.Context(), &w.run.cfg.Ending, io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("an error: %v", err)
	}
	w.run.cfg.Ending.Until = flags.Condition{}
	if err := EndOf(asked, unanswered(asked, &w.run.cfg.Ending, context.Canceled), false); err != nil {
		t.Errorf("without --until: %v", err)
	}
}

// TestStopAfter: --count ends a run at the event, in few batches.
func TestStopAfter(t *testing.T) {
	isOdd := func(e event.Event) bool { return e.Count%2 == 1 }
	for _, test := range []struct{ limit, batches, events int }{
		{1, 2, 2}, // 0 | 1
		{3, 3, 6}, // 0 1 2 | 3 4 | 5
		{50, 7, 100},
		{51, 0, 100},
	} {
		var sizes []int
		n := 0
		sink := stopAfter(test.limit, func() int { return n }, event.SinkFunc(func(_ context.Context, batch []event.Event) error {
			sizes = append(sizes, len(batch))
			for _, e := range batch {
				if isOdd(e) {
					n++
				}
			}
			return nil
		}))
		batch := make([]event.Event, 100)
		for i := range batch {
			batch[i].Count = i
		}
		err := sink.Deliver(t.Context(), batch)
		total := 0
		for _, size := range sizes {
			total += size
		}
		enough := test.limit <= 50
		if errors.Is(err, ErrEnough) != enough || total != test.events || enough && n != test.limit || slices.Contains(sizes, 0) || test.batches > 0 && len(sizes) > test.batches {
			t.Errorf("%d: %v, %d printed, batches of %v", test.limit, err, n, sizes)
		}
	}
}

// TestDescribeMasked: the description of a pending object contains no masked text.
func TestDescribeMasked(t *testing.T) {
	w, _ := newTestCondition(t, event.SinkFunc(discard))
	pattern, err := change.ParsePattern("status.containerStatuses[*].state.terminated.message")
	if err != nil {
		t.Fatal(err)
	}
	pod := testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"n","creationTimestamp":"2026-01-31T09:00:00Z"},
		"status":{"phase":"Failed","containerStatuses":[{"name":"web","state":{"terminated":{"exitCode":1,"reason":"Error","message":"password"}}}]}}`)
	p := until.PendingItem{Target: jobsTarget, Object: pod}
	if got := w.describe(p); !strings.Contains(got, "Error (exit 1): password") {
		t.Error(got)
	}
	w.run.cfg.Print.Compare.Masks = &change.Masks{Paths: change.Patterns{pattern}}
	if got := w.describe(p); !strings.HasSuffix(got, " Failed") {
		t.Error(got)
	}
}
