package recording

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"dwatch/testdata/race"
	"dwatch/watcher/event"
)

// rleFrame returns a zstd frame of size times the byte b, in 4 bytes per 128 KiB. Without its last block if isCut.
func rleFrame(b byte, size int, isCut bool) []byte {
	frame := binary.LittleEndian.AppendUint32(nil, zstdMagic)
	frame = append(frame, 0, 13<<3) // no checksum, a window of 8 MiB
	for ; size > 0; size -= maxBlock {
		n := min(size, maxBlock)<<3 | blockRepeated<<1
		frame = append(frame, byte(n), byte(n>>8), byte(n>>16), b)
	}
	if !isCut {
		frame = append(frame, 1, 0, 0)
	}
	return frame
}

func compress(t testing.TB, text string) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll([]byte(text), nil)
}

// peakMemory returns the most heap that f uses, with a garbage collector that aims at limit.
func peakMemory(limit int64, f func()) (peak uint64) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	runtime.GC()
	done := make(chan struct{})
	sampled := make(chan uint64)
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		var peak uint64
		for {
			metrics.Read(heap)
			peak = max(peak, heap[0].Value.Uint64())
			select {
			case <-done:
				sampled <- peak
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	return <-sampled
}

// readAllOf reads a directory with each function that can, and returns all reports of damage.
func readAllOf(t testing.TB, dir string) (said string) {
	t.Helper()
	ctx := context.Background()
	recording, err := Read(ctx, Dir(dir))
	if err != nil {
		return err.Error()
	}
	said = strings.Join(recording.Warnings(), "\n")
	sink := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	proof, err := recording.Replay(ctx, Query{Targets: []event.Target{configMaps}, ReconcileGaps: true, IncludeOld: true}, sink)
	if err != nil {
		t.Fatal(err)
	}
	said += "\n" + strings.Join(proof.Damage, "\n")
	if _, proof, err = recording.ObjectsAt(ctx, Query{Targets: []event.Target{configMaps}}, at(5)); err != nil {
		t.Fatal(err)
	}
	said += "\n" + strings.Join(proof.Damage, "\n")
	if _, err := ListSegments(ctx, Dir(dir), nil); err != nil {
		t.Fatal(err)
	}
	return said
}

// decompressedBytes returns how many bytes of a segment are decompressed to read its lines.
func decompressedBytes(t testing.TB, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := segmentOf(file{path: path}, data, lastIndex(data))
	if err != nil {
		t.Fatal(err)
	}
	u, err := newUnpacker()
	if err != nil {
		t.Fatal(err)
	}
	defer u.close()
	before := u.decompressed
	if err := s.lines(u, func(string) error { return nil }, func() error { return nil }, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return u.decompressed - before
}

// TestBombs checks that the memory and work that a reader needs have a bound that does not depend on the lengths that
// a file states, and that an answer then says that the recording is damaged.
func TestBombs(t *testing.T) {
	const limit = 320 << 20
	raceOverhead := uint64(0) // the race detector needs memory of its own
	if race.Enabled {
		raceOverhead = 32 << 20
	}
	dir := t.TempDir()
	if err := begunRun(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(files[0].path)
	if err != nil {
		t.Fatal(err)
	}
	first := skippable(fmt.Sprint(preamble, FormatVersion))
	_, rest := nextPart(data, true)
	begin := data[:len(data)-len(rest)+frameSize(rest)] // up to the end of the header
	headerOf := func(member string) []byte {
		h := fmt.Sprintf(`{"type":"RECORDING","time":"2026-01-31T02:00:00Z","version":1,"segment":1,"begins":true,"run":"r","last":"2026-01-31T02:00:00Z","cluster":"c",%s}`+"\n", member)
		return slices.Concat(first, compress(t, h))
	}
	indexOf := func(text string) []byte {
		content := binary.LittleEndian.AppendUint32([]byte(text), crc32.Checksum([]byte(text), crcTable))
		return skippable(string(binary.LittleEndian.AppendUint32(content, uint32(len(text)))) + trailer)
	}
	many := func(element string, bytes int) string {
		return "[" + strings.Repeat(element+",", bytes/(len(element)+1)) + element + "]"
	}
	line := func(size int) string {
		return `{"type":"HEARTBEAT","time":"2026-01-31T02:00:00Z","more":"` + strings.Repeat("x", size) + "\"}\n"
	}
	summed := func(size int) []byte { // lines with right sums, longer than a frame may be
		var text bytes.Buffer
		one := line(1 << 20)
		sum, summed := uint32(0), 0
		for n := 1; text.Len() < size; n++ {
			text.WriteString(one)
			sum = crc32.Update(sum, crcTable, text.Bytes()[summed:])
			summed = text.Len()
			fmt.Fprintf(&text, `%s"time":"2026-01-31T02:00:00Z","lines":%d,"sum":%d}`+"\n", checkedBegin, 2*n, sum)
		}
		return compress(t, text.String())
	}
	hugeWindow := rleFrame('x', 1<<20, false)
	hugeWindow[5] = 17 << 3 // 128 MiB
	index := string(data[len(data)-indexEnd-int(binary.LittleEndian.Uint32(data[len(data)-8:])) : len(data)-indexEnd])
	for name, file := range map[string]struct {
		data []byte
		want string // in the reports of damage
		most int    // MiB that may be decompressed
	}{
		"zeros after the header":     {slices.Concat(begin, rleFrame(0, 3<<30, false)), "a line is invalid", 2},
		"zeros, many frames":         {slices.Concat(begin, bytes.Repeat(rleFrame(0, 64<<20, false), 50)), "a line is invalid", 8},
		"zeros, and no end":          {slices.Concat(begin, rleFrame(0, 3<<30, true)), "a line is invalid", 2},
		"empty lines":                {slices.Concat(begin, rleFrame('\n', 3<<30, false)), "a line is invalid", 2},
		"zeros for a header":         {slices.Concat(first, rleFrame(0, 3<<30, false)), "damaged", 1},
		"zeros in many frames":       {slices.Concat(begin, bytes.Repeat(rleFrame(0, 128<<10, false), 1<<15)), "a line is invalid", 34},
		"a long line":                {slices.Concat(begin, compress(t, line(200<<20))), "a line is longer than 32 MiB", 36},
		"a long frame":               {slices.Concat(begin, summed(130<<20)), "a frame is longer than 128 MiB", 130},
		"a large window":             {slices.Concat(begin, hugeWindow), "damaged", 1},
		"a long header":              {headerOf(`"server":"` + strings.Repeat("x", 9<<20) + `"`), "a header is longer than 4 MiB", 10},
		"a header of empty targets":  {headerOf(`"targets":` + many("{}", 3<<20)), "a list has an element", 12},
		"a header of numbers":        {headerOf(`"targets":` + many("0", 3<<20)), "a list has an element", 12},
		"a header of nulls":          {headerOf(`"resources":` + many("null", 3<<20)), "a list has an element", 12},
		"a header of selections":     {headerOf(`"selection":{"resources":` + many("0", 3<<20) + `}`), "damaged", 12},
		"an index of numbers":        {slices.Concat(begin, indexOf(strings.Replace(index, `"frames":[`, `"frames":[`+strings.Repeat("0,", 3<<20), 1))), "damaged", 1},
		"an index of empty texts":    {slices.Concat(begin, indexOf(strings.Replace(index, `"namespaces":[`, `"namespaces":[`+strings.Repeat(`"",`, 5<<19), 1))), "damaged", 1},
		"a long index":               {slices.Concat(begin, indexOf(strings.Repeat(" ", 20<<20)+index)), "damaged", 1},
		"an index that states 4 GiB": {slices.Concat(begin, []byte{0xff, 0xff, 0xff, 0xff}, []byte(trailer)), "damaged", 1},
		"a skipped frame of 4 GiB":   {slices.Concat(begin, []byte{0x5d, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff}), "", 1},
		"many begins of frames":      {slices.Concat(begin, bytes.Repeat(rleFrame(0, 1<<20, true), 1<<15), indexOf(index)), "damaged", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, files[0].name()), file.data, 0o600); err != nil {
				t.Fatal(err)
			}
			var said string
			got := peakMemory(limit, func() { said = readAllOf(t, dir) })
			if got > limit+raceOverhead {
				t.Errorf("reading %d KiB took %d MiB of memory, want at most %d", len(file.data)>>10, got>>20, limit>>20)
			}
			if !strings.Contains(said, file.want) {
				t.Errorf("got %.300q, want %q", said, file.want)
			}
			decompressed := decompressedBytes(t, filepath.Join(dir, files[0].name()))
			if decompressed > file.most<<20 {
				t.Errorf("reading decompressed %d MiB, want at most %d", decompressed>>20, file.most)
			}
			t.Logf("%d KiB: %d KiB decompressed, %d MiB of memory", len(file.data)>>10, decompressed>>10, got>>20)
		})
	}
}

// TestSparseFile checks that a file is not read whose size no segment has.
func TestSparseFile(t *testing.T) {
	dir := t.TempDir()
	if err := begunRun(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0].path, 1<<42); err != nil {
		t.Skip("the file system has no sparse files:", err)
	}
	var said string
	if got := peakMemory(64<<20, func() { said = readAllOf(t, dir) }); got > 128<<20 {
		t.Errorf("reading took %d MiB of memory", got>>20)
	}
	if !strings.Contains(said, "larger than 1024 MiB") {
		t.Errorf("got %q", said)
	}
}

// TestFrameLimit checks that a Recorder keeps the limits that a reader enforces.
func TestFrameLimit(t *testing.T) {
	encoder, err := newEncoder()
	if err != nil {
		t.Fatal(err)
	}
	w, err := newSegment(filepath.Join(t.TempDir(), "segment"), encoder)
	if err != nil {
		t.Fatal(err)
	}
	defer w.file.Close()
	line := append(bytes.Repeat([]byte("x"), 1<<20-1), '\n')
	for range 2*maxFrameBytes>>20 - 2 {
		if err := w.line(line, start); err != nil {
			t.Fatal(err)
		}
		if w.frameBytes > maxFrameBytes {
			t.Fatalf("a frame has %d bytes, want at most %d", w.frameBytes, maxFrameBytes)
		}
	}
	if len(w.index.Frames) == 0 {
		t.Error("got one frame, want several")
	}
	if err := w.line(make([]byte, maxLineBytes+1), start); err == nil {
		t.Error("a line that is too long was written")
	}
}

// TestManyNamespaces checks that an index with too many entries stands for more than was changed, not for less.
func TestManyNamespaces(t *testing.T) {
	i := index{Changed: byResource([]string{"configmaps/a", "configmaps/b", "pods/a"})}
	if want := []string{"configmaps/", "pods/"}; !slices.Equal(i.Changed, want) {
		t.Fatalf("got %q, want %q", i.Changed, want)
	}
	key := configMaps.Key()
	key.Namespace = "b"
	if !i.touches(key) {
		t.Error("the index lacks a namespace that has changed")
	}
}

// FuzzRead checks that a reader takes any content of a segment, in bounded memory and without a panic. The fuzzer
// changes what is compressed: lines, how often they are repeated, and the index.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	r := begunRun(f, dir)
	for second := 3; second < 20; second++ {
		deliver(f, r, of(f, event.Modified, "web", second, second))
	}
	if err := r.Close(); err != nil {
		f.Fatal(err)
	}
	files, _, err := list(dir)
	if err != nil {
		f.Fatal(err)
	}
	s, err := load(f.Context(), files[0])
	if err != nil {
		f.Fatal(err)
	}
	u, err := newUnpacker()
	if err != nil {
		f.Fatal(err)
	}
	var lines []string
	err = s.lines(u, func(text string) error {
		lines = append(lines, strings.Clone(text))
		return nil
	}, func() error { return nil }, func(string) {})
	if err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal(s.index)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(lines[0]+"\n"), []byte(strings.Join(lines[1:], "\n")+"\n"), uint16(1), text)
	f.Add([]byte(lines[0]+"\n"), []byte{0}, uint16(60_000), []byte("[]"))
	f.Add([]byte(strings.Replace(lines[0], `"targets":[`, `"targets":[{},{},0,null,`, 1)+"\n"), []byte("\n"), uint16(60_000), []byte(`{"frames":[0]}`))
	f.Fuzz(func(t *testing.T, header, body []byte, times uint16, index []byte) {
		dir := t.TempDir()
		const most = 2 << 20
		repeated := bytes.Repeat(body, min(int(times), most/max(len(body), 1)+1))
		content := binary.LittleEndian.AppendUint32(slices.Clone(index), crc32.Checksum(index, crcTable))
		content = binary.LittleEndian.AppendUint32(content, uint32(len(index)))
		data := slices.Concat(skippable(fmt.Sprint(preamble, FormatVersion)), compress(t, string(header)), compress(t, string(repeated)), skippable(string(content)+trailer))
		if err := os.WriteFile(filepath.Join(dir, fileName(1, start)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		readAllOf(t, dir)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 256<<20 {
			t.Errorf("reading %d bytes allocated %d MiB", len(data), got>>20)
		}
	})
}
