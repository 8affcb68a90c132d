package resume

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher"
)

func TestRecord(t *testing.T) {
	path := newPath(t)
	tell(t, path, pods, "ADDED a/1/1", "ADDED b/2/2", "ADDED c/3/3", "ADDED d/4/4")
	got, complete := toldAt(t, path, pods)
	if want := []string{"a/1/1", "b/2/2", "c/3/3", "d/4/4"}; !cmp.Equal(got, want) || complete {
		t.Error(got, complete)
	}
	tell(t, path, pods, "SYNCED", "MODIFIED a/1/5", "DELETED b/2/6", "DELETED c/3/7", "ADDED c/8/8", "GAP", "ADDED e/9/9", "DELETED e/9/10")
	got, complete = toldAt(t, path, pods)
	if want := []string{"a/1/5", "c/8/8", "d/4/4"}; !cmp.Equal(got, want) || !complete {
		t.Error(got, complete)
	}
	// Another target has nothing, and adds nothing to this one.
	other := targetOf("pods", "a", "a")
	tell(t, path, other, "ADDED a/1/5")
	if got, complete := toldAt(t, path, pods); len(got) != 3 || !complete {
		t.Error(got, complete)
	}
	if got, complete := toldAt(t, path, other); len(got) != 1 || complete {
		t.Error(got, complete)
	}
}

// A resource stays the same when the server prefers another version of it.
func TestVersionChanges(t *testing.T) {
	path := newPath(t)
	tell(t, path, pods, "ADDED a/1/1", "SYNCED")
	mapping := *pods.Mapping
	mapping.Resource.Version, mapping.GroupVersionKind.Version = "v2", "v2"
	newer := watcher.Target{Mapping: &mapping, Namespace: pods.Namespace}
	if got, complete := toldAt(t, path, newer); len(got) != 1 || !complete {
		t.Error(got, complete)
	}
	tell(t, path, newer, "MODIFIED a/1/2")
	f := openMine(t, path)
	defer f.Close()
	if o := f.Orphans(nil); len(o) != 1 || o[0].Mapping.GroupVersionKind.Version != "v2" {
		t.Errorf("%+v", o)
	}
	if _, complete := told(t, f, pods); !complete {
		t.Error("it has forgotten that all was told")
	}
}

func TestOrphans(t *testing.T) {
	path := newPath(t)
	gone := targetOf("crontabs.example.com", "a", "nightly")
	tell(t, path, pods, "ADDED a/1/1")
	tell(t, path, gone, "ADDED nightly/2/2", "SYNCED")
	f := openMine(t, path)
	defer f.Close()
	orphans := f.Orphans([]watcher.Target{pods, targetOf("secrets", "a", "")})
	if len(orphans) != 1 || !cmp.Equal(orphans[0].Mapping.GroupVersionKind, gone.Mapping.GroupVersionKind) ||
		orphans[0].Resource() != gone.Resource() || orphans[0].Namespace != "a" || orphans[0].Name != "nightly" || !orphans[0].Namespaced() {
		t.Fatalf("%+v", orphans)
	}
	if got, complete := told(t, f, orphans[0]); !cmp.Equal(got, []string{"nightly/2/2"}) || !complete {
		t.Error(got, complete)
	}
}

// Nothing is recorded before it has left the process.
func TestOnlyWhatLeft(t *testing.T) {
	no := errors.New("no")
	for name, run := range map[string]func(t *testing.T, f *File) *Recorder{
		"not flushed": func(t *testing.T, f *File) *Recorder {
			r := f.Record(deaf.next, deaf.flush, unexpected(t))
			r.Emit(event(t, pods, "ADDED a/1/1"))
			return r
		},
		"not printed": func(t *testing.T, f *File) *Recorder {
			r := f.Record(func(watcher.Event) error { return no }, deaf.flush, unexpected(t))
			if err := r.Emit(event(t, pods, "ADDED a/1/1")); !errors.Is(err, no) {
				t.Error(err)
			}
			r.Flush()
			return r
		},
		"flushed in vain": func(t *testing.T, f *File) *Recorder {
			r := f.Record(deaf.next, func() error { return no }, unexpected(t))
			r.Emit(event(t, pods, "ADDED a/1/1"))
			if err := r.Flush(); !errors.Is(err, no) {
				t.Error(err)
			}
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			f := openMine(t, path)
			if err := errors.Join(run(t, f).Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if got, _ := toldAt(t, path, pods); len(got) > 0 {
				t.Errorf("recorded: %s", got)
			}
		})
	}
}

// A stream that never pauses is flushed all the same, and what is recorded has
// always been flushed before.
func TestBusyStream(t *testing.T) {
	path := newPath(t)
	f := openMine(t, path)
	printed, flushed := 0, 0
	next := func(watcher.Event) error { printed++; return nil }
	flush := func() error { flushed = printed; return nil }
	r := f.Record(next, flush, unexpected(t))
	for i := range 3*maxUnflushed + 1 {
		if err := r.Emit(event(t, pods, fmt.Sprintf("ADDED pod-%d/1/1", i))); err != nil {
			t.Fatal(err)
		}
	}
	if printed-flushed >= maxUnflushed {
		t.Errorf("%d flushed of %d", flushed, printed)
	}
	if err := errors.Join(r.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, _ := toldAt(t, path, pods); len(got) != flushed {
		t.Errorf("%d recorded, %d flushed", len(got), flushed)
	}
}

// What the disk refuses ends the run.
func TestWriteFails(t *testing.T) {
	f := openMine(t, newPath(t))
	failed := make(chan error, 1)
	r := f.Record(deaf.next, deaf.flush, func(err error) { failed <- err })
	f.db.Close()
	r.Emit(event(t, pods, "ADDED a/1/1"))
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	err := <-failed
	if err == nil || !slices.Contains([]error{r.Flush()}, err) || r.Close() != err {
		t.Error(err, r.Flush(), r.Close())
	}
}

// While the disk is busy the stream goes on, up to a bound, and then waits.
func TestSlowDisk(t *testing.T) {
	path := newPath(t)
	f := openMine(t, path)
	r := f.Record(deaf.next, deaf.flush, unexpected(t))
	busy, err := f.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	const all = 2*maxWaiting + writeSoon
	emitted := make(chan int, all)
	done := make(chan error)
	go func() {
		for i := range all {
			if err := r.Emit(event(t, pods, fmt.Sprintf("ADDED pod-%d/1/1", i))); err != nil {
				done <- err
				return
			}
			emitted <- i
		}
		done <- r.Flush()
	}()
	for range maxWaiting {
		<-emitted
	}
	r.writer.mu.Lock()
	if n := len(r.writer.waiting); n > maxWaiting+maxUnflushed {
		t.Errorf("%d wait", n)
	}
	r.writer.mu.Unlock()
	select {
	case <-done:
		t.Error("it does not wait for the disk")
	default:
	}
	busy.Rollback()
	if err := errors.Join(<-done, r.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, _ := toldAt(t, path, pods); len(got) != all {
		t.Errorf("%d of %d recorded", len(got), all)
	}
}
