package resume

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

func TestRecord(t *testing.T) {
	path := newPath(t)
	report(t, path, pods, "ADDED a/1/1", "ADDED b/2/2", "ADDED c/3/3", "ADDED d/4/4")
	got, complete := reportedAt(t, path, pods)
	if want := []string{"a/1/1", "b/2/2", "c/3/3", "d/4/4"}; !cmp.Equal(got, want) || complete {
		t.Error(got, complete)
	}
	report(t, path, pods, "SYNCED", "MODIFIED a/1/5", "DELETED b/2/6", "DELETED c/3/7", "ADDED c/8/8", "GAP", "ADDED e/9/9", "DELETED e/9/10")
	got, complete = reportedAt(t, path, pods)
	if want := []string{"a/1/5", "c/8/8", "d/4/4"}; !cmp.Equal(got, want) || !complete {
		t.Error(got, complete)
	}
	// Another target has no objects and adds none to this one.
	other := targetOf("pods", "b", "a")
	report(t, path, other, "ADDED a/1/5")
	if got, complete := reportedAt(t, path, pods); len(got) != 3 || !complete {
		t.Error(got, complete)
	}
	if got, complete := reportedAt(t, path, other); len(got) != 1 || complete {
		t.Error(got, complete)
	}
}

// TestVersionChanges checks that a target stays the same if the server prefers another version of
// its resource.
func TestVersionChanges(t *testing.T) {
	path := newPath(t)
	report(t, path, pods, "ADDED a/1/1", "SYNCED")
	mapping := *pods.Mapping
	mapping.Resource.Version, mapping.GroupVersionKind.Version = "v2", "v2"
	newer := event.Target{Mapping: &mapping, Namespace: pods.Namespace}
	if got, complete := reportedAt(t, path, newer); len(got) != 1 || !complete {
		t.Error(got, complete)
	}
	report(t, path, newer, "MODIFIED a/1/2")
	f := openMine(t, path)
	defer f.Close()
	if o := f.OrphanedTargets("", nil); len(o) != 1 || o[0].Mapping.GroupVersionKind.Version != "v2" {
		t.Errorf("%+v", o)
	}
	if _, complete := reported(t, f, pods); !complete {
		t.Error("complete is false after a change of version")
	}
}

func TestOrphans(t *testing.T) {
	path := newPath(t)
	gone := targetOf("crontabs.example.com", "a", "nightly")
	report(t, path, pods, "ADDED a/1/1")
	report(t, path, gone, "ADDED nightly/2/2", "SYNCED")
	f := openMine(t, path)
	defer f.Close()
	orphans := f.OrphanedTargets("", []event.Target{pods, targetOf("secrets", "a", "")})
	if len(orphans) != 1 || !cmp.Equal(orphans[0].Mapping.GroupVersionKind, gone.Mapping.GroupVersionKind) ||
		orphans[0].Resource() != gone.Resource() || orphans[0].Namespace != "a" || orphans[0].Name != "nightly" || !orphans[0].Namespaced() {
		t.Fatalf("%+v", orphans)
	}
	if got, complete := reported(t, f, orphans[0]); !cmp.Equal(got, []string{"nightly/2/2"}) || !complete {
		t.Error(got, complete)
	}
}

// TestWiderTarget checks that a target for all objects takes over the objects of a target for a
// single object, in the run in which it joins and in the next ones.
func TestWiderTarget(t *testing.T) {
	narrow := targetOf("pods", "a", "x")
	others := []event.Target{targetOf("pods", "b", "x"), targetOf("secrets", "a", "x")}
	for name, test := range map[string]struct {
		before, after, then []string // events of narrow, of pods in the same run, and in the next run
		want                []string
	}{
		"next run":             {before: []string{"ADDED x/1/1", "SYNCED"}, want: []string{"x/1/1"}},
		"next run, synced":     {before: []string{"ADDED x/1/1"}, then: []string{"SYNCED"}, want: []string{"x/1/1"}},
		"deleted in next run":  {before: []string{"ADDED x/1/1"}, then: []string{"DELETED x/1/2"}},
		"modified in next run": {before: []string{"ADDED x/1/1"}, then: []string{"MODIFIED x/1/2"}, want: []string{"x/1/2"}},
		"same run":             {before: []string{"ADDED x/1/1"}, after: []string{"ARRIVED"}, want: []string{"x/1/1"}},
		"deleted":              {before: []string{"ADDED x/1/1"}, after: []string{"ARRIVED", "DELETED x/1/2", "ADDED y/2/3"}, want: []string{"y/2/3"}},
		"modified":             {before: []string{"ADDED x/1/1"}, after: []string{"ARRIVED", "MODIFIED x/1/2", "SYNCED"}, want: []string{"x/1/2"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			for _, other := range others {
				report(t, path, other, "ADDED x/9/9")
			}
			f := openMine(t, path)
			r := newReader(t, f)
			r.report(narrow, test.before...)
			r.report(pods, test.after...)
			if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the result of the first run must remain
				f = openMine(t, path)
				if o := f.OrphanedTargets("", append(others, pods)); len(o) > 0 {
					t.Errorf("orphans: %+v", o)
				}
				r = newReader(t, f)
				reported(t, f, pods)
				r.report(pods, test.then...)
				if err := r.stage.Close(); err != nil {
					t.Fatal(err)
				}
				if got, _ := reported(t, f, pods); !cmp.Equal(got, test.want) {
					t.Errorf("%s, want %s", got, test.want)
				}
				if got, _ := reported(t, f, narrow); len(got) > 0 {
					t.Errorf("the narrow target still has: %s", got)
				}
				if got, _ := reported(t, f, others[0]); len(got) != 1 {
					t.Errorf("the target of another namespace has: %s", got)
				}
				f.Close()
			}
		})
	}
}

// TestOrphanCovered checks that only the wider one of two missing targets is an orphan. If it has
// no objects, the narrower one is.
func TestOrphanCovered(t *testing.T) {
	narrow := targetOf("pods", "a", "x")
	path := newPath(t)
	report(t, path, pods, "ADDED y/2/2", "DELETED y/2/3")
	report(t, path, narrow, "ADDED x/1/1")
	f := openMine(t, path)
	if o := f.OrphanedTargets("", nil); len(o) != 1 || o[0].Name != "x" {
		t.Errorf("%+v", o)
	}
	f.Close()
	report(t, path, pods, "ADDED y/2/4")
	f = openMine(t, path)
	defer f.Close()
	if o := f.OrphanedTargets("", nil); len(o) != 1 || o[0].Name != "" {
		t.Errorf("%+v", o)
	}
}

// TestKilledWhileTakingOver checks that no deletion is lost if a process is killed while a wider
// target takes over.
func TestKilledWhileTakingOver(t *testing.T) {
	f := openMine(t, newPath(t))
	defer f.Close()
	r := newReader(t, f)
	r.report(targetOf("pods", "a", "x"), "ADDED x/1/1")
	killed := ""
	r.onDeliver = func() { killed = copyOf(t, f) }
	if err := r.deliver(pods, "ARRIVED", "DELETED x/1/2", "ADDED x/2/3", "ADDED y/3/4"); err != nil {
		t.Fatal(err)
	}
	if got, _ := reportedAt(t, killed, pods); !cmp.Equal(got, []string{"x/1/1?", "x/2/3?", "y/3/4?"}) {
		t.Errorf("before the commit: %s", got)
	}
	if err := r.stage.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := reported(t, f, pods); !cmp.Equal(got, []string{"x/2/3", "y/3/4"}) {
		t.Errorf("after everything: %s", got)
	}
}

// TestOrder checks the file whenever the process might be killed: it contains an ADDED object
// before the event is delivered, and reported changes only after delivery.
func TestOrder(t *testing.T) {
	path := newPath(t)
	report(t, path, pods, "ADDED changed/1/1", "ADDED deleted/2/2", "ADDED recreated/3/3", "SYNCED")
	f := openMine(t, path)
	r := newReader(t, f)
	now := func() []string {
		got, _ := reported(t, f, pods)
		return got
	}
	var atDelivery [][]string
	r.onDeliver = func() { atDelivery = append(atDelivery, now()) }
	if err := r.deliver(pods, "MODIFIED changed/1/4", "DELETED deleted/2/5", "DELETED recreated/3/6", "ADDED recreated/7/7", "ADDED new/8/8"); err != nil {
		t.Fatal(err)
	}
	text := <-r.got
	if want := "MODIFIED changed\nDELETED deleted\nDELETED recreated\nADDED recreated\nADDED new\n"; text != want {
		t.Errorf("%q", text)
	}
	r.report(pods, "ADDED next/9/9")
	if err := r.stage.Close(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"changed/1/1", "deleted/2/2", "new/8/8?", "recreated/3/3?", "recreated/7/7?"}; !cmp.Equal(atDelivery[0], want) {
		t.Errorf("at the first delivery: %s", atDelivery[0])
	}
	if want := []string{"changed/1/4", "new/8/8", "next/9/9?", "recreated/7/7"}; !cmp.Equal(atDelivery[1], want) {
		t.Errorf("at the second delivery: %s", atDelivery[1])
	}
	if want := []string{"changed/1/4", "new/8/8", "next/9/9", "recreated/7/7"}; !cmp.Equal(now(), want) {
		t.Errorf("after everything: %s", now())
	}
	f.Close()
}

// TestKilledBeforeFirstText checks that a process that is killed during its first delivery leaves a
// usable file, also if that is the first event of a target.
func TestKilledBeforeFirstText(t *testing.T) {
	f := openMine(t, newPath(t))
	r := newReader(t, f)
	killed := make(chan string, 10)
	r.onDeliver = func() { killed <- copyOf(t, f) }
	check := func(target event.Target, want string, synced bool, batch ...event.Event) {
		t.Helper()
		if err := r.stage.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		got, complete := reportedAt(t, <-killed, target)
		if !cmp.Equal(got, []string{want}) || complete != synced {
			t.Error(got, complete)
		}
	}
	newer := targetOf("pods", "a", "")
	newer.Mapping.Resource.Version, newer.Mapping.GroupVersionKind.Version = "v2", "v2"
	// The target is not synced, because the last process was killed.
	check(pods, "a/1/1?", false, parse(t, pods, "ADDED a/1/1"), parse(t, pods, "SYNCED"), parse(t, newer, "MODIFIED a/1/2"))
	joined := targetOf("secrets", "a", "")
	check(joined, "b/2/2?", false, parse(t, joined, "ADDED b/2/2"))
	check(pods, "a/1/2", true, parse(t, pods, "DELETED a/1/3"), parse(t, joined, "ADDED c/3/3"), parse(t, joined, "DELETED c/3/4"))
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRefused checks that events that the next Sink refuses are not recorded as reported.
func TestRefused(t *testing.T) {
	path := newPath(t)
	report(t, path, pods, "ADDED changed/1/1", "ADDED deleted/2/2", "ADDED recreated/3/3", "SYNCED")
	f := openMine(t, path)
	r := newReader(t, f)
	r.report(pods, "MODIFIED changed/1/4")
	<-r.got
	r.refuse = errors.New("no")
	err := r.deliver(pods, "MODIFIED changed/1/5", "DELETED deleted/2/6", "DELETED recreated/3/7", "ADDED recreated/8/8", "ADDED new/9/9")
	if !errors.Is(err, r.refuse) {
		t.Error(err)
	}
	if err := r.stage.Close(); err != nil {
		t.Error(err)
	}
	f.Close()
	got, _ := reportedAt(t, path, pods)
	if want := []string{"changed/1/4", "deleted/2/2", "new/9/9?", "recreated/3/3?", "recreated/8/8?"}; !cmp.Equal(got, want) {
		t.Errorf("%s", got)
	}
	// The next run first reports the deletion, which is then confirmed, and the rest is not.
	report(t, path, pods, "DELETED recreated/3/7")
	got, _ = reportedAt(t, path, pods)
	if want := []string{"changed/1/4", "deleted/2/2", "new/9/9?", "recreated/8/8?"}; !cmp.Equal(got, want) {
		t.Errorf("%s", got)
	}
	report(t, path, pods, "ADDED recreated/8/8", "DELETED new/9/9")
	got, _ = reportedAt(t, path, pods)
	if want := []string{"changed/1/4", "deleted/2/2", "recreated/8/8"}; !cmp.Equal(got, want) {
		t.Errorf("%s", got)
	}
}

// TestSilence checks that changes are committed within a second even if no more events arrive.
func TestSilence(t *testing.T) {
	path := newPath(t)
	report(t, path, pods, "ADDED a/1/1")
	f := openMine(t, path)
	r := newReader(t, f)
	r.report(pods, "MODIFIED a/1/2", "MODIFIED a/1/3") // the first one is committed immediately
	if got, _ := reported(t, f, pods); !cmp.Equal(got, []string{"a/1/2"}) {
		t.Errorf("before: %s", got)
	}
	deadline := time.After(time.Minute)
	for {
		got, _ := reported(t, f, pods)
		if cmp.Equal(got, []string{"a/1/3"}) {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("the file has %s", got)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestWriteFails checks that a write error ends the run before the batch is delivered.
func TestWriteFails(t *testing.T) {
	f := openMine(t, newPath(t))
	r := newReader(t, f)
	f.db.Close()
	err := r.deliver(pods, "ADDED a/1/1")
	if err == nil || !strings.HasPrefix(err.Error(), "write state file ") {
		t.Error(err)
	}
	if again, closed := r.deliver(pods, "MODIFIED a/1/2"), r.stage.Close(); again != err || closed != err {
		t.Error(err, again, closed)
	}
	if len(r.got) > 0 {
		t.Errorf("delivered: %s", <-r.got)
	}
}

// TestWriteFailsLater checks that a write error between batches is reported.
func TestWriteFailsLater(t *testing.T) {
	path := newPath(t)
	report(t, path, pods, "ADDED a/1/1")
	f := openMine(t, path)
	r := newReader(t, f)
	r.report(pods, "MODIFIED a/1/2", "MODIFIED a/1/3")
	f.db.Close()
	if err := <-r.failed; !strings.HasPrefix(err, "write state file ") {
		t.Error(err)
	}
	if err := r.deliver(pods, "MODIFIED a/1/4"); err == nil {
		t.Error("Deliver succeeded after a write error")
	}
	if len(r.got) != 2 {
		t.Errorf("%d batches were delivered", len(r.got))
	}
}

// TestTargetNotWritten checks that an error of writing a target ends the run.
func TestTargetNotWritten(t *testing.T) {
	path := newPath(t)
	openMine(t, path).Close()
	changeStore(t, path, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket(targetsBucket)
		if err != nil {
			return err
		}
		return b.Put(bucketName(pods.Key()), []byte("not a bucket"))
	})
	for _, text := range []string{"SYNCED", "ADDED a/1/1"} {
		f := openMine(t, path)
		r := newReader(t, f)
		if err := r.deliver(pods, text); err == nil || !strings.HasPrefix(err.Error(), "write state file ") {
			t.Error(err)
		}
		if err := r.stage.Close(); err == nil {
			t.Error("Close returned no error")
		}
		f.Close()
	}
}
