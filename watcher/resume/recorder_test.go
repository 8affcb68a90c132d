package resume

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
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
	newer := event.Target{Mapping: &mapping, Namespace: pods.Namespace}
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
	orphans := f.Orphans([]event.Target{pods, targetOf("secrets", "a", "")})
	if len(orphans) != 1 || !cmp.Equal(orphans[0].Mapping.GroupVersionKind, gone.Mapping.GroupVersionKind) ||
		orphans[0].Resource() != gone.Resource() || orphans[0].Namespace != "a" || orphans[0].Name != "nightly" || !orphans[0].Namespaced() {
		t.Fatalf("%+v", orphans)
	}
	if got, complete := told(t, f, orphans[0]); !cmp.Equal(got, []string{"nightly/2/2"}) || !complete {
		t.Error(got, complete)
	}
}

// The file knows of an ADDED before it leaves the process, and what has been told
// only after that. What it has is looked at where the process might be killed.
func TestOrder(t *testing.T) {
	path := newPath(t)
	tell(t, path, pods, "ADDED changed/1/1", "ADDED deleted/2/2", "ADDED recreated/3/3", "SYNCED")
	f := openMine(t, path)
	r := newReader(t, f)
	now := func() []string {
		got, _ := told(t, f, pods)
		return got
	}
	before := now()
	var atWrite [][]string
	r.onWrite = func() { atWrite = append(atWrite, now()) }
	for _, text := range []string{"MODIFIED changed/1/4", "DELETED deleted/2/5", "DELETED recreated/3/6", "ADDED recreated/7/7", "ADDED new/8/8"} {
		if err := r.emit(parse(t, pods, text)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, now()); diff != "" {
		t.Errorf("not flushed: %s", diff)
	}
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	text := <-r.got
	if want := "MODIFIED changed\nDELETED deleted\nDELETED recreated\nADDED recreated\nADDED new\n"; text != want {
		t.Errorf("%q", text)
	}
	r.tell(pods, "ADDED next/9/9")
	if err := r.recorder.Close(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"changed/1/1", "deleted/2/2", "new/8/8?", "recreated/3/3?", "recreated/7/7?"}; !cmp.Equal(atWrite[0], want) {
		t.Errorf("at the first write: %s", atWrite[0])
	}
	if want := []string{"changed/1/4", "new/8/8", "next/9/9?", "recreated/7/7"}; !cmp.Equal(atWrite[1], want) {
		t.Errorf("at the second write: %s", atWrite[1])
	}
	if want := []string{"changed/1/4", "new/8/8", "next/9/9", "recreated/7/7"}; !cmp.Equal(now(), want) {
		t.Errorf("after all: %s", now())
	}
	f.Close()
}

// A process that is killed while the reader takes its time has left a file that
// opens, also where the text is the first about a target.
func TestKilledBeforeFirstText(t *testing.T) {
	f := openMine(t, newPath(t))
	r := newReader(t, f)
	killed := make(chan string, 10)
	r.onWrite = func() { killed <- copyOf(t, f) }
	emit := func(target event.Target, text string) {
		t.Helper()
		if err := r.emit(parse(t, target, text)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(target event.Target, want string, synced bool) {
		t.Helper()
		if err := r.flush(); err != nil {
			t.Fatal(err)
		}
		got, complete := toldAt(t, <-killed, target)
		if !cmp.Equal(got, []string{want}) || complete != synced {
			t.Error(got, complete)
		}
	}
	newer := targetOf("pods", "a", "")
	newer.Mapping.Resource.Version, newer.Mapping.GroupVersionKind.Version = "v2", "v2"
	emit(pods, "ADDED a/1/1")
	emit(pods, "SYNCED")
	emit(newer, "MODIFIED a/1/2") // it is not synced by that
	check(pods, "a/1/1?", false)
	joined := targetOf("secrets", "a", "")
	emit(joined, "ADDED b/2/2")
	check(joined, "b/2/2?", false)
	emit(pods, "DELETED a/1/3")
	emit(joined, "ADDED c/3/3")
	emit(joined, "DELETED c/3/4")
	check(pods, "a/1/2", true)
	if err := errors.Join(r.recorder.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// What is refused by the reader is not recorded as told.
func TestRefused(t *testing.T) {
	path := newPath(t)
	tell(t, path, pods, "ADDED changed/1/1", "ADDED deleted/2/2", "ADDED recreated/3/3", "SYNCED")
	f := openMine(t, path)
	r := newReader(t, f)
	r.tell(pods, "MODIFIED changed/1/4")
	<-r.got
	no := errors.New("no")
	r.refuse.Store(&no)
	for _, text := range []string{"MODIFIED changed/1/5", "DELETED deleted/2/6", "DELETED recreated/3/7", "ADDED recreated/8/8", "ADDED new/9/9"} {
		if err := r.emit(parse(t, pods, text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	<-r.failed
	if err := r.flush(); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := r.recorder.Close(); !errors.Is(err, no) {
		t.Error(err)
	}
	f.Close()
	got, _ := toldAt(t, path, pods)
	if want := []string{"changed/1/4", "deleted/2/2", "new/9/9?", "recreated/3/3?", "recreated/8/8?"}; !cmp.Equal(got, want) {
		t.Errorf("%s", got)
	}
	// The next run tells the deletion first: then it is sure, and the rest is not.
	tell(t, path, pods, "DELETED recreated/3/7")
	got, _ = toldAt(t, path, pods)
	if want := []string{"changed/1/4", "deleted/2/2", "new/9/9?", "recreated/8/8?"}; !cmp.Equal(got, want) {
		t.Errorf("%s", got)
	}
	tell(t, path, pods, "ADDED recreated/8/8", "DELETED new/9/9")
	got, _ = toldAt(t, path, pods)
	if want := []string{"changed/1/4", "deleted/2/2", "recreated/8/8"}; !cmp.Equal(got, want) {
		t.Errorf("%s", got)
	}
}

// What can't be printed is not recorded.
func TestNotPrinted(t *testing.T) {
	path := newPath(t)
	f := openMine(t, path)
	no := errors.New("no")
	recorder := f.Record(io.Discard, func(error) {})
	emit, flush := recorder.Stage(func(event.Event) error { return no }, func() error { return nil })
	if err := emit(parse(t, pods, "ADDED a/1/1")); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := errors.Join(flush(), recorder.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if got, _ := toldAt(t, path, pods); len(got) > 0 {
		t.Errorf("recorded: %s", got)
	}
}

// A stream that never pauses is flushed all the same.
func TestBusyStream(t *testing.T) {
	f := openMine(t, newPath(t))
	r := newReader(t, f)
	for i := range 3*flushChanges + 1 {
		if err := r.emit(parse(t, pods, fmt.Sprintf("ADDED pod-%d/1/1", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.recorder.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	close(r.got)
	lines := 0
	for text := range r.got {
		lines += strings.Count(text, "\n")
	}
	if lines <= 2*flushChanges {
		t.Errorf("%d lines written", lines)
	}
}

// What the disk refuses ends the run, and is not written to the reader.
func TestWriteFails(t *testing.T) {
	f := openMine(t, newPath(t))
	r := newReader(t, f)
	f.db.Close()
	r.tell(pods, "ADDED a/1/1")
	err := <-r.failed
	if !strings.HasPrefix(err, "write state file ") {
		t.Error(err)
	}
	if flushed, closed := r.flush(), r.recorder.Close(); flushed == nil || closed == nil || flushed.Error() != err || closed.Error() != err {
		t.Error(err, flushed, closed)
	}
	if len(r.got) > 0 {
		t.Errorf("written: %s", <-r.got)
	}
}

// A target that the file has no place for ends the run in the same way.
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
		r.tell(pods, text)
		if err := <-r.failed; !strings.HasPrefix(err, "write state file ") {
			t.Error(err)
		}
		if err := r.recorder.Close(); err == nil {
			t.Error("no error at the end")
		}
		f.Close()
	}
}

// While disk or reader are busy the stream goes on, up to a bound, and then waits.
func TestBound(t *testing.T) {
	path := newPath(t)
	f := openMine(t, path)
	r := newReader(t, f)
	busy, err := f.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	const all = 4 * maxChanges
	emitted := make(chan int, all)
	done := make(chan error)
	go func() {
		for i := range all {
			if err := r.emit(parse(t, pods, fmt.Sprintf("ADDED pod-%d/1/1", i))); err != nil {
				done <- err
				return
			}
			emitted <- i
		}
		done <- r.flush()
	}()
	for range maxChanges {
		<-emitted
	}
	r.recorder.writer.mu.Lock()
	if n := len(r.recorder.writer.waiting.changes); n > maxChanges+flushChanges {
		t.Errorf("%d wait", n)
	}
	r.recorder.writer.mu.Unlock()
	select {
	case <-done:
		t.Error("it does not wait for the disk")
	default:
	}
	busy.Rollback()
	if err := errors.Join(<-done, r.recorder.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, _ := toldAt(t, path, pods); len(got) != all {
		t.Errorf("%d of %d recorded", len(got), all)
	}
}
