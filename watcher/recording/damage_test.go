package recording

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"dwatch/watcher/event"
)

// TestDamageWithoutEnd: a byte that changed in a segment without its end costs what follows the last
// sum before it, is said, and makes no line that was not written. The next run leaves the segment as
// it is.
func TestDamageWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	for second := 3; second < 60; second++ {
		deliver(t, r, of(t, event.Modified, "web", second, second))
	}
	r.release()
	whole, _ := played(t, read(t, dir), Query{})
	size := 0
	copyOf(t, dir, func(data []byte) []byte {
		size = len(data)
		return data
	})
	said, silent := 0, 0
	for at := 0; at < size; at += 7 {
		changed := copyOf(t, dir, func(data []byte) []byte {
			data[at] ^= 1 << (at % 8)
			return data
		})
		recording, err := Read(context.Background(), Dir(changed))
		if err != nil {
			continue // it says so
		}
		got, proof := played(t, recording, Query{})
		for _, one := range got {
			if !slices.Contains(whole, one) {
				t.Fatalf("at %d: %q is new", at, one)
			}
		}
		switch {
		case len(proof.Damage) > 0 && !proof.IsComplete():
			said++
		case len(got) == len(whole): // a flag that changes nothing
		case size-at > 200 || len(got) < len(whole)-1: // else it is as if it had been killed a second before
			t.Errorf("at %d of %d: %d lines of %d, %v %v", at, size, len(got), len(whole), proof.Damage, gaps(proof))
		default:
			silent++
		}
		if at%10 > 0 || len(proof.Damage) == 0 {
			continue
		}
		next, err := OpenRecorder(changed)
		if err != nil {
			t.Fatal(err)
		}
		next.release()
		files, _, err := list(changed)
		if err != nil || len(files) != 1 || files[0].size != int64(size) || len(next.Warnings()) == 0 {
			t.Errorf("at %d the next run leaves %v and says %q", at, files, next.Warnings())
		}
	}
	t.Logf("%d bytes: %d said, %d were as if it had ended before them", size, said, silent)
}

// TestNeverRemoved: what is no begin of a segment is not removed by the next run, nor for its age or
// size.
func TestNeverRemoved(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(dir, "00000000-notes.zst")
	for _, name := range []string{"00000009-notes.zst", "00000008-20260131T020000Z.zst"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(notes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next := recorder(t, dir, Options{Now: func() time.Time { return at(60) }, Retention: time.Nanosecond, MaxSize: 1})
	defer next.release()
	if !strings.Contains(strings.Join(next.Warnings(), "\n"), "00000009-notes.zst") {
		t.Errorf("%q", next.Warnings())
	}
	for _, name := range []string{"00000009-notes.zst", "00000000-notes.zst"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestHidden: the begin of a block that ends behind the file takes nothing with it that was written.
func TestHidden(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	for second := 3; second < 60; second++ {
		deliver(t, r, of(t, event.Modified, "web", second, second))
	}
	r.release()
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(files[0].path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest := nextPart(data, false)
	_, rest = nextPart(rest, false) // the header
	if _, at := measure(rest); at != len(rest) || checkHidden(rest) != nil {
		t.Fatal(at, checkHidden(rest))
	}
	first := bytes.Clone(rest)
	first[blocks(t, rest)+1] |= 0x80 // its size
	if checkHidden(first) == nil {
		t.Error("what follows the first block is hidden")
	}
	if zeros := append(bytes.Clone(rest), make([]byte, 512)...); checkHidden(zeros) == nil {
		t.Error("zeros are what was written")
	}
}

// blocks is where the first block of a frame begins.
func blocks(t *testing.T, frame []byte) int {
	t.Helper()
	var h zstd.Header
	if err := h.Decode(frame); err != nil {
		t.Fatal(err)
	}
	return h.HeaderSize
}

// TestKnown: what was recorded is known by the last segment that can be read, so that nothing else is
// recorded into the directory; and a segment of another cluster is none of the recording.
func TestKnown(t *testing.T) {
	for name, content := range map[string]string{"foreign": "not of dwatch, and longer than the begin of one", "damaged": ""} {
		dir := t.TempDir()
		r := begunRun(t, dir)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if content != "" {
			if err := os.WriteFile(filepath.Join(dir, fileName(2, at(10))), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			dir = copyOf(t, dir, func(data []byte) []byte {
				data[len(data)/2] ^= 0x10
				return data
			})
		}
		next, err := OpenRecorder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if known := next.PreviousRun(); known == nil || known.ClusterUID != "c" || len(next.Warnings()) == 0 {
			t.Errorf("%s: %+v, %q", name, known, next.Warnings())
		}
		next.release()
	}
}

func TestOtherCluster(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := at(20)
	if err := again.StartRun(Options{EncodeEvent: r.EncodeEvent, EncodeObject: r.EncodeObject, DescribeResource: r.DescribeResource, Now: func() time.Time { return now }}, RunInfo{ClusterUID: "d"}, []event.Target{configMaps}); err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	recording := read(t, dir)
	if _, proof := played(t, recording, Query{}); proof.IsComplete() || !strings.Contains(strings.Join(proof.Damage, "\n"), "another cluster") {
		t.Errorf("%v %v", proof.Damage, gaps(proof))
	}
	if !strings.Contains(strings.Join(recording.Warnings(), "\n"), "another cluster") {
		t.Errorf("%q", recording.Warnings())
	}
}
