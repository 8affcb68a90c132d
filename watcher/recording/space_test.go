package recording

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestNoRepair: where a segment can't be given its end, as on a full disk, the next run goes on all the
// same; what a repair has left that was killed is removed.
func TestNoRepair(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 10))
	r.release()
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(dir, "."+filepath.Base(files[0].path))
	left := filepath.Join(dir, "."+fileName(9, start))
	if err := errors.Join(os.Mkdir(inTheWay, 0o700), os.WriteFile(left, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	next := recorder(t, dir, Options{Now: func() time.Time { return at(20) }})
	deliver(t, next, mark(event.Synced, 21), of(t, event.Modified, "web", 3, 22))
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	got, proof := played(t, read(t, dir), Query{})
	if !slices.Contains(got, "MODIFIED web 2") || !slices.Contains(got, "MODIFIED web 3") || len(proof.Damage) > 0 {
		t.Errorf("%q %v", got, proof.Damage)
	}
}

// TestScarce: where what is there takes most of --max-size, a segment has at least as much of what
// happens, and that is said.
func TestScarce(t *testing.T) {
	dir := t.TempDir()
	warned := 0
	r := recorder(t, dir, Options{MaxSize: 200 << 10, Warn: func(string) { warned++ }})
	random := rand.NewChaCha8([32]byte{1})
	noisy := func(kind event.Type, name, version, second int) event.Event {
		noise := make([]byte, 2000)
		_, _ = random.Read(noise)
		e := of(t, kind, fmt.Sprint("o", name), version, second)
		e.Object = event.NewObject(e.Object.Identity, strings.Replace(e.Object.Raw(), `"n":`, `"noise":"`+hex.EncodeToString(noise)+`","n":`, 1))
		return e
	}
	const objects, changes = 60, 300
	for n := range objects {
		deliver(t, r, noisy(event.Added, n, 1, 1))
	}
	deliver(t, r, mark(event.Synced, 2))
	for n := range changes {
		deliver(t, r, noisy(event.Modified, n%objects, n+2, n+3))
	}
	if warned != 1 {
		t.Errorf("%d warnings", warned)
	}
	if r.segmentNumber > 2+changes/objects+1 {
		t.Errorf("%d segments of %d changes of %d objects", r.segmentNumber, changes, objects)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDeniedFromBegin: what never was known says why.
func TestDeniedFromBegin(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	denied := mark(event.Denied, 1)
	denied.Err = errors.New("no right to list configmaps")
	deliver(t, r, denied)
	deliver(t, r, event.Event{Type: event.Heartbeat, Time: at(20)})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, proof := played(t, read(t, dir), Query{From: at(5), To: at(15)}); !strings.Contains(fmt.Sprint(gaps(proof)), "denied: no right to list configmaps") {
		t.Error(gaps(proof))
	}
}

// TestUnreadable: a recording of which no header can be read is damaged, and not none.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := begunRun(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	dir = copyOf(t, dir, func(data []byte) []byte {
		for at := 40; at < 200; at++ {
			data[at] ^= 0x55
		}
		return data
	})
	if _, err := Read(context.Background(), Dir(dir)); !errors.Is(err, ErrUnreadable) {
		t.Error(err)
	}
}
