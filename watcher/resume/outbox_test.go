package resume

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

// queue is the Sink downstream of a Stage with an Outbox. It adds a record for each object, except
// those whose names begin with "hidden".
type queue struct {
	outbox *Outbox
	remove []uint64 // records to remove with the next batch
	at     func()   // called before each batch if not nil
}

// Deliver implements event.Sink.
func (q *queue) Deliver(_ context.Context, batch []event.Event) error {
	if q.at != nil {
		q.at()
	}
	var records [][]byte
	for _, e := range batch {
		if !e.Type.IsStatus() && !strings.HasPrefix(e.Object.Name, "hidden") {
			records = append(records, fmt.Appendf(nil, "%s %s", e.Type, e.Object.Name))
		}
	}
	if len(records) == 0 {
		return nil
	}
	_, err := q.outbox.Add(records, q.remove)
	q.remove = nil
	return err
}

// openOutbox opens the file at path, with a Stage before a queue.
func openOutbox(t testing.TB, path string) (*File, *queue, *reader) {
	t.Helper()
	f := openMine(t, path)
	outbox, err := f.OpenOutbox("json")
	if err != nil {
		t.Fatal(err)
	}
	q := &queue{outbox: outbox}
	r := &reader{t: t, failed: make(chan string, 1)}
	r.stage = f.NewStage(q, func(err error) { r.failed <- err.Error() })
	return f, q, r
}

// records returns the waiting records as NUMBER TEXT.
func records(t testing.TB, o *Outbox) (texts []string) {
	t.Helper()
	if err := o.Each(func(number uint64, record []byte) error {
		texts = append(texts, fmt.Sprintf("%d %s", number, record))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return texts
}

// recordsAt is like records for a closed file.
func recordsAt(t testing.TB, path string) []string {
	t.Helper()
	f, q, _ := openOutbox(t, path)
	defer f.Close()
	return records(t, q.outbox)
}

// TestOutbox checks that a batch's records and its changes enter the file together.
func TestOutbox(t *testing.T) {
	f, q, r := openOutbox(t, newPath(t))
	before := ""
	q.at = func() { before = copyOf(t, f) }
	for i, step := range []struct {
		batch             []string
		remove            []uint64
		reported, waiting []string // after the batch
	}{
		{[]string{"ADDED a/1/1", "ADDED b/2/2"}, nil, []string{"a/1/1", "b/2/2"}, []string{"1 ADDED a", "2 ADDED b"}},
		{[]string{"SYNCED", "MODIFIED a/1/3", "DELETED b/2/4"}, nil, []string{"a/1/3"}, []string{"1 ADDED a", "2 ADDED b", "3 MODIFIED a", "4 DELETED b"}},
		{[]string{"ADDED hidden/3/5", "ADDED c/4/6"}, []uint64{1, 3}, []string{"a/1/3", "c/4/6", "hidden/3/5"}, []string{"2 ADDED b", "4 DELETED b", "5 ADDED c"}},
	} {
		wantReported, _ := reported(t, f, pods)
		wantWaiting := records(t, q.outbox)
		q.remove = step.remove
		if err := r.deliver(pods, step.batch...); err != nil {
			t.Fatal(err)
		}
		after := copyOf(t, f)
		if got, _ := reportedAt(t, before, pods); !cmp.Equal(got, wantReported) {
			t.Errorf("before batch %d: %s", i, got)
		}
		if got := recordsAt(t, before); !cmp.Equal(got, wantWaiting) {
			t.Errorf("before batch %d: %s", i, got)
		}
		if got, complete := reportedAt(t, after, pods); !cmp.Equal(got, step.reported) || complete != (i > 0) {
			t.Errorf("after batch %d: %s, %v", i, got, complete)
		}
		if got := recordsAt(t, after); !cmp.Equal(got, step.waiting) {
			t.Errorf("after batch %d: %s", i, got)
		}
	}
	if got, err := q.outbox.Record(5); string(got) != "ADDED c" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := q.outbox.Record(1); err == nil || !strings.HasPrefix(err.Error(), "read state file ") {
		t.Error(err)
	}
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOutboxSoon checks that events that are not added count as reported within a second, and that
// removed records leave the file by then.
func TestOutboxSoon(t *testing.T) {
	path := newPath(t)
	f, q, r := openOutbox(t, path)
	r.report(pods, "ADDED a/1/1", "ADDED hidden/2/2", "ADDED b/3/3", "ADDED c/4/4")
	q.outbox.Remove(2)
	if got := records(t, q.outbox); len(got) != 3 {
		t.Errorf("before: %s", got)
	}
	for deadline := time.Now().Add(time.Minute); len(records(t, q.outbox)) != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("records are %s", records(t, q.outbox))
		}
	}
	q.outbox.Remove(1)
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil { // Close commits immediately
		t.Fatal(err)
	}
	if got := recordsAt(t, path); !cmp.Equal(got, []string{"3 ADDED c"}) {
		t.Errorf("%s", got)
	}
	if got, _ := reportedAt(t, path, pods); len(got) != 4 {
		t.Errorf("%s", got)
	}
	// Numbers are not reused.
	f, _, r = openOutbox(t, path)
	r.report(pods, "MODIFIED a/1/5")
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got := recordsAt(t, path); !cmp.Equal(got, []string{"3 ADDED c", "4 MODIFIED a"}) {
		t.Errorf("%s", got)
	}
}

// TestOutboxHidden checks that objects that are not added are in the file soon, and with
// UpstreamBuffers immediately.
func TestOutboxHidden(t *testing.T) {
	for _, held := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, _, r := openOutbox(t, newPath(t))
			r.stage.UpstreamBuffers = held
			count := func() int {
				got, _ := reported(t, f, pods)
				return len(got)
			}
			r.report(pods, "ADDED hidden1/1/1")
			r.report(pods, "ADDED hidden2/2/2")
			if is := count() == 2; is != held {
				t.Errorf("UpstreamBuffers %t: the second object is in the file: %t", held, is)
			}
			time.Sleep(commitInterval)
			synctest.Wait()
			if n := count(); n != 2 {
				t.Errorf("UpstreamBuffers %t: the file has %d objects after a second", held, n)
			}
			if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestOutboxManyRemoved checks that many removed records are committed in less than a second.
func TestOutboxManyRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, q, r := openOutbox(t, newPath(t))
		var events []string
		for i := range removeSoon + 1 {
			events = append(events, fmt.Sprintf("ADDED a%d/%[1]d/1", i))
		}
		if err := r.deliver(pods, events...); err != nil {
			t.Fatal(err)
		}
		for number := range uint64(removeSoon) {
			q.outbox.Remove(number + 1)
			want := len(events)
			if number+1 == removeSoon {
				want = 1
			} else if number%100 > 0 {
				continue
			}
			synctest.Wait() // no time passes
			if got := len(records(t, q.outbox)); got != want {
				t.Errorf("got %d records, want %d", got, want)
			}
		}
		if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestOutboxWriteFails checks that a write error ends the run, during a batch and between two.
func TestOutboxWriteFails(t *testing.T) {
	f, _, r := openOutbox(t, newPath(t))
	f.db.Close()
	err := r.deliver(pods, "ADDED a/1/1")
	if err == nil || !strings.HasPrefix(err.Error(), "write state file ") {
		t.Error(err)
	}
	if again, closed := r.deliver(pods, "MODIFIED a/1/2"), r.stage.Close(); again != err || closed != err {
		t.Error(err, again, closed)
	}

	f, q, r := openOutbox(t, newPath(t))
	r.report(pods, "ADDED a/1/1")
	q.outbox.Remove(1)
	f.db.Close()
	if err := <-r.failed; !strings.HasPrefix(err, "write state file ") {
		t.Error(err)
	}
}

// TestOutboxChanges checks that a file with waiting records can't be used without a receiver or
// with another encoding, and that one without records can.
func TestOutboxChanges(t *testing.T) {
	path := newPath(t)
	formatOf := func() (text string) {
		changeStore(t, path, func(tx *bolt.Tx) error { text = string(tx.Bucket(headerBucket).Get(formatKey)); return nil })
		return text
	}
	report(t, path, pods, "ADDED a/1/1")
	if got := formatOf(); got != "2" {
		t.Errorf("without a receiver, the format is %s", got)
	}
	f, _, r := openOutbox(t, path)
	r.report(pods, "MODIFIED a/1/2", "ADDED b/2/3")
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got := formatOf(); got != "3" {
		t.Errorf("with an outbox, the format is %s", got)
	}
	f = openMine(t, path)
	if one, other := f.CheckOutboxEncoding("json"), f.CheckOutboxEncoding("yaml"); one != nil || other == nil {
		t.Errorf("json: %v, yaml: %v", one, other)
	}
	if _, err := f.OpenOutbox("yaml"); err == nil || err.Error() != "state file "+path+": 2 events are waiting in it for a receiver, encoded as json: use -o json, or delete the file to start over" {
		t.Error(err)
	}
	if err := f.RemoveOutbox(); err == nil || err.Error() != "state file "+path+": 2 events are waiting in it for a receiver: use one until all are delivered, or delete the file to start over" {
		t.Error(err)
	}
	if !f.HadReceiver() {
		t.Error("HadReceiver is true")
	}
	f.Close()
	moved := mine
	moved.Server = "elsewhere:6443"
	f, err := Open(path, moved) // rewrites the header
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := recordsAt(t, path); len(got) != 2 || formatOf() != "3" {
		t.Errorf("%s, format %s", got, formatOf())
	}
	f, q, r := openOutbox(t, path)
	q.outbox.Remove(1)
	q.outbox.Remove(2)
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	f = openMine(t, path)
	if _, err := f.OpenOutbox("yaml"); err != nil {
		t.Error(err)
	}
	if err := f.RemoveOutbox(); err != nil || f.HadReceiver() {
		t.Error(err, f.HadReceiver())
	}
	f.Close()
	if got := formatOf(); got != "2" {
		t.Errorf("without a receiver again, the format is %s", got)
	}
	if got, _ := reportedAt(t, path, pods); !cmp.Equal(got, []string{"a/1/2", "b/2/3"}) {
		t.Errorf("%s", got)
	}
}

// TestOutboxDamaged checks that damage of the outbox is detected.
func TestOutboxDamaged(t *testing.T) {
	path := newPath(t)
	f, _, r := openOutbox(t, path)
	r.report(pods, "ADDED a/1/1")
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	f, q, _ := openOutbox(t, path)
	bad := errors.New("nonsense")
	if err := q.outbox.Each(func(uint64, []byte) error { return bad }); err == nil || err.Error() != "state file "+path+": it is damaged (nonsense): delete it to start over" {
		t.Error(err)
	}
	f.Close()
	changeStore(t, path, func(tx *bolt.Tx) error { return tx.Bucket(outboxBucket).Put([]byte("key"), []byte("value")) })
	f, q, _ = openOutbox(t, path)
	defer f.Close()
	if err := q.outbox.Each(func(uint64, []byte) error { return nil }); err == nil || !strings.Contains(err.Error(), "it is damaged") {
		t.Error(err)
	}
}

// TestOutboxMemory checks that a large file does not stay resident after it is opened, and is never
// resident as a whole.
func TestOutboxMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is released only on Linux")
	}
	path := newPath(t)
	f, q, r := openOutbox(t, path)
	f.db.NoSync = true
	big := make([][]byte, 1000)
	for i := range big {
		big[i] = make([]byte, 64<<10)
	}
	q.at = func() {
		if _, err := q.outbox.Add(big, nil); err != nil {
			t.Error(err)
		}
	}
	r.report(pods, "ADDED a/1/1")
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	f, q, _ = openOutbox(t, path)
	defer f.Close()
	read, most := 0, 0
	if err := q.outbox.Each(func(_ uint64, record []byte) error {
		if read++; read%100 == 0 {
			most = max(most, mapped(t, path))
		}
		if len(record) == 64<<10 && !bytes.Equal(record, big[0]) {
			return errors.New("it is not what it was")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if got := mapped(t, path); got > 8<<10 {
		t.Errorf("%d KB of the file are resident", got)
	}
	if most > 24<<10 {
		t.Errorf("at most, %d KB of the file were resident", most)
	}
}

// TestCommitMemory checks that the pages that a commit or History reads do not stay resident.
func TestCommitMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is released only on Linux")
	}
	path := newPath(t)
	f, q, r := openOutbox(t, path)
	defer f.Close()
	f.db.NoSync = true
	record := make([]byte, 6<<10)
	q.at = func() {
		if _, err := q.outbox.Add([][]byte{record}, nil); err != nil {
			t.Error(err)
		}
	}
	for i := range 2000 {
		r.report(pods, fmt.Sprintf("ADDED a%d/%[1]d/1", i))
	}
	if got := mapped(t, path); got > 1<<10 {
		t.Errorf("%d KB of the file are resident", got)
	}
	if objects, _ := reported(t, f, pods); len(objects) != 2000 {
		t.Errorf("the file has %d objects", len(objects))
	}
	if got := mapped(t, path); got > 1<<10 {
		t.Errorf("%d KB of the file are resident after History", got)
	}
	if err := r.stage.Close(); err != nil {
		t.Error(err)
	}
}

// mapped returns how many KB of a file are resident in this process.
func mapped(t *testing.T, path string) (kilobytes int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	inside := false
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "-") && strings.Contains(line, " ") && !strings.Contains(strings.Fields(line)[0], ":") {
			inside = strings.Contains(line, path)
		}
		var n int
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &n); inside && err == nil {
			kilobytes += n
		}
	}
	return kilobytes
}
