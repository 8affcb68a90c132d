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

// TestNoRepair checks that a run starts even if it can't complete the last segment, for example because the disk is full, and
// that it removes incomplete copies of earlier repairs.
func TestNoRepair(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	deliver(t, r, of(t, event.Modified, "web", 2, 10))
	r.release()
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(dir, "."+filepath.Base(files[0].path)) // a directory in place of the copy makes the repair fail
	leftover := filepath.Join(dir, "."+fileName(9, start))
	if err := errors.Join(os.Mkdir(blocked, 0o700), os.WriteFile(leftover, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	next := recorder(t, dir, Options{Now: func() time.Time { return at(20) }})
	deliver(t, next, statusEvent(event.Synced, 21), of(t, event.Modified, "web", 3, 22))
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(leftover); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("incomplete copy: got %v, want it to be removed", err)
	}
	got, proof := played(t, read(t, dir), Query{})
	if !slices.Contains(got, "MODIFIED web 2") || !slices.Contains(got, "MODIFIED web 3") || len(proof.Damage) > 0 {
		t.Errorf("got %q, damage %v, want the changes of both runs and no damage", got, proof.Damage)
	}
}

// TestSmallMaxSize checks that segments have room for changes even if existing objects take most of --max-size, and that the
// Recorder warns once.
func TestSmallMaxSize(t *testing.T) {
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
	deliver(t, r, statusEvent(event.Synced, 2))
	for n := range changes {
		deliver(t, r, noisy(event.Modified, n%objects, n+2, n+3))
	}
	if warned != 1 {
		t.Errorf("got %d warnings, want 1", warned)
	}
	if want := 2 + changes/objects + 1; r.segmentNumber > want {
		t.Errorf("got %d segments for %d changes of %d objects, want at most %d", r.segmentNumber, changes, objects, want)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDeniedFromStart checks that the gap of a target that was never listed has the server's reason.
func TestDeniedFromStart(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir, Options{})
	denied := statusEvent(event.Denied, 1)
	denied.Err = errors.New("no right to list configmaps")
	deliver(t, r, denied)
	deliver(t, r, event.Event{Type: event.Heartbeat, Time: at(20)})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, proof := played(t, read(t, dir), Query{From: at(5), To: at(15)}); !strings.Contains(fmt.Sprint(gaps(proof)), "denied: no right to list configmaps") {
		t.Errorf("got gaps %v, want one with the reason of the denial", gaps(proof))
	}
}

// TestUnreadable checks that a recording without a readable header is reported as damaged, not as missing.
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
		t.Errorf("got %v, want %v", err, ErrUnreadable)
	}
}
