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

// TestDamageWithoutEnd changes single bytes of a segment without an index. A reader must never return an event that was not
// written. It must report the damage, unless the segment looks as if it had ended a second earlier. The next run must not
// change the segment.
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
	reported, unnoticed := 0, 0
	for at := 0; at < size; at += 7 {
		changed := copyOf(t, dir, func(data []byte) []byte {
			data[at] ^= 1 << (at % 8)
			return data
		})
		recording, err := Read(context.Background(), Dir(changed))
		if err != nil {
			continue // the error reports the damage
		}
		got, proof := played(t, recording, Query{})
		for _, one := range got {
			if !slices.Contains(whole, one) {
				t.Fatalf("byte %d changed: got event %q, which was never written", at, one)
			}
		}
		switch {
		case len(proof.Damage) > 0 && !proof.IsComplete():
			reported++
		case len(got) == len(whole): // a flag without effect
		case size-at > 200 || len(got) < len(whole)-1: // otherwise the segment looks as if the run had been killed a second earlier
			t.Errorf("byte %d of %d changed: got %d of %d events without a report of the damage: damage %v, gaps %v", at, size, len(got), len(whole), proof.Damage, gaps(proof))
		default:
			unnoticed++
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
			t.Errorf("byte %d changed: after the next run, files are %v with warnings %q, want the same file and a warning", at, files, next.Warnings())
		}
	}
	t.Logf("of the changed bytes of %d, %d were reported and %d look like an earlier end", size, reported, unnoticed)
}

// TestNeverRemoved checks that the next run does not remove files that are not the start of a segment, even if Retention and
// MaxSize are exceeded.
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
		t.Errorf("got warnings %q, want one about 00000009-notes.zst", next.Warnings())
	}
	for _, name := range []string{"00000009-notes.zst", "00000000-notes.zst"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestHiddenBlocks checks that checkHidden finds the blocks after one with a wrong size, and zeros at the end, and accepts a
// frame that is only incomplete.
func TestHiddenBlocks(t *testing.T) {
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
	_, rest = nextPart(rest, false) // skip the header
	if _, at := measure(rest); at != len(rest) || checkHidden(rest, false) != nil {
		t.Fatalf("undamaged frame: cut at %d of %d, %v", at, len(rest), checkHidden(rest, false))
	}
	first := bytes.Clone(rest)
	first[blocksOffset(t, rest)+1] |= 0x80 // the size of the first block
	if checkHidden(first, false) == nil {
		t.Error("the blocks after one with a wrong size were not found")
	}
	if zeros := append(bytes.Clone(rest), make([]byte, 512)...); checkHidden(zeros, false) == nil {
		t.Error("zeros at the end were not found")
	}
}

// blocksOffset returns the offset of the first block of a frame.
func blocksOffset(t *testing.T, frame []byte) int {
	t.Helper()
	var h zstd.Header
	if err := h.Decode(frame); err != nil {
		t.Fatal(err)
	}
	return h.HeaderSize
}

// TestPreviousRun checks that a Recorder finds out what earlier runs recorded, even if the last segment is foreign or damaged.
func TestPreviousRun(t *testing.T) {
	for name, content := range map[string]string{"foreign": "not written by dwatch, and longer than the first frame of a segment", "damaged": ""} {
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
			t.Errorf("last segment %s: got %+v, warnings %q, want cluster c and a warning", name, known, next.Warnings())
		}
		next.release()
	}
}

// TestOtherCluster checks that readers do not use a segment of another cluster, and report it.
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
		t.Errorf("got damage %v, gaps %v, want another cluster to be reported", proof.Damage, gaps(proof))
	}
	if !strings.Contains(strings.Join(recording.Warnings(), "\n"), "another cluster") {
		t.Errorf("got warnings %q, want one about another cluster", recording.Warnings())
	}
}

// TestIncompleteHeader checks that a segment which ends within its header counts as incomplete, not as damaged. The ID of
// a run is random, so this reads the headers of several runs.
func TestIncompleteHeader(t *testing.T) {
	for range 30 {
		dir := t.TempDir()
		r := begunRun(t, dir)
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
		u, err := newUnpacker()
		if err != nil {
			t.Fatal(err)
		}
		header := frameSize(rest)
		for size := len(data) - len(rest) + 1; size < len(data)-len(rest)+header; size++ {
			s, err := segmentOf(file{path: files[0].path}, data[:size], nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.lines(u, func(string) error { return nil }, func() error { return nil }, func(why string) {
				t.Errorf("after %d of %d bytes: %s", size-len(data)+len(rest), header, why)
			}); err != nil {
				t.Fatal(err)
			}
		}
		u.close()
	}
}
