package recording

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// frameBytes and frameTime are after what a frame ends: a reader decompresses at least one, and
	// damage costs one.
	frameBytes = 16 << 20 // of lines
	frameTime  = time.Hour
	// windowBytes is how far back an object is found to be like the one before: an event of a pod
	// of 10 KB takes 92 bytes with this, and 143 with frames of 4 MiB.
	windowBytes = 8 << 20
)

// segmentWriter writes a segment.
type segmentWriter struct {
	file       *os.File
	encoder    *zstd.Encoder
	size       int64 // of the file
	frame      frameInfo
	raw        int // bytes of lines in the frame; 0: there is none
	index      index
	namespaces map[string]bool
	failed     error
}

func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(windowBytes), zstd.WithLowerEncoderMem(true))
}

// newSegment creates the file of a segment, which must not be there.
func newSegment(path string, encoder *zstd.Encoder) (*segmentWriter, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w := &segmentWriter{file: f, encoder: encoder, namespaces: map[string]bool{}, index: index{Version: Version}}
	_, err = w.Write(skippable(fmt.Sprint(preamble, Version)))
	return w, err
}

// Write implements io.Writer for the encoder.
func (w *segmentWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.size += int64(n)
	return n, err
}

// line writes a line, which ends with a newline.
func (w *segmentWriter) line(text []byte, at time.Time) error {
	if w.raw > 0 && (w.raw+len(text) > frameBytes || at.Sub(w.frame.From.Time) > frameTime) {
		w.endFrame()
	}
	if w.raw == 0 {
		w.encoder.Reset(w)
		w.frame = frameInfo{Offset: w.size, From: stamp{at}, To: stamp{at}}
	}
	if _, err := w.encoder.Write(text); err != nil {
		return w.fail(err)
	}
	w.raw += len(text)
	w.frame.Lines++
	w.frame.To = stamp{later(w.frame.To.Time, at)}
	return w.failed
}

func (w *segmentWriter) fail(err error) error {
	if w.failed == nil && err != nil {
		w.failed = err
	}
	return w.failed
}

// flush gives all lines to the system, so that they are there when the process is killed.
func (w *segmentWriter) flush() error {
	if w.raw == 0 || w.failed != nil {
		return w.failed
	}
	return w.fail(w.encoder.Flush())
}

func (w *segmentWriter) endFrame() {
	if w.raw == 0 || w.failed != nil {
		return
	}
	w.fail(w.encoder.Close())
	i := &w.index
	if i.Lines == 0 {
		i.From = w.frame.From
	}
	i.To = stamp{later(i.To.Time, w.frame.To.Time)}
	i.Lines += w.frame.Lines
	i.Frames = append(i.Frames, w.frame)
	w.raw = 0
}

// note notes for the index what is in the segment.
func (w *segmentWriter) noteResource(a metav1.APIResource) {
	w.index.Resources = append(w.index.Resources, a)
}

func (w *segmentWriter) noteNamespace(name string) { w.namespaces[name] = true }

// close ends the segment with its index.
func (w *segmentWriter) close(targets []sightState) error {
	w.endFrame()
	w.index.Targets = targets
	for name := range w.namespaces {
		w.index.Namespaces = append(w.index.Namespaces, name)
	}
	slices.Sort(w.index.Namespaces)
	frame, err := w.index.frame()
	if w.fail(err) == nil {
		_, err = w.Write(frame)
		w.fail(err)
	}
	if w.failed == nil {
		w.fail(w.file.Sync())
	}
	w.fail(w.file.Close())
	return w.failed
}

// segment is a segment as it is read.
type segment struct {
	file
	data  []byte
	index *index // nil: it has none: it goes on, or its end is lost
}

// damage is a part of a segment that can't be read.
type damage struct {
	path string
	why  string
}

func (d damage) Error() string { return filepath.Base(d.path) + ": " + d.why }

// peekBytes is more than what a header takes.
const peekBytes = 256 << 10

// peek reads the begin of a segment, and its index.
func peek(f file) (*segment, error) {
	opened, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	size, err := opened.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	read := func(from, to int64) []byte {
		data := make([]byte, max(to-from, 0))
		n, failed := opened.ReadAt(data, from)
		if failed != nil && failed != io.EOF {
			err = failed
		}
		return data[:n]
	}
	head := read(0, min(size, peekBytes))
	var tail []byte
	if end := read(max(size-8, 0), size); len(end) == 8 && string(end[4:]) == trailer {
		tail = read(max(size-8-int64(binary.LittleEndian.Uint32(end)), 0), size)
	}
	if err != nil {
		return nil, err
	}
	return segmentOf(f, head, lastIndex(tail))
}

// load reads the file of a segment.
func load(f file) (*segment, error) {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	return segmentOf(f, data, lastIndex(data))
}

// segmentOf returns the segment that begins with data. Its error is a *damage if that is none.
func segmentOf(f file, data []byte, index *index) (*segment, error) {
	s := &segment{file: f, data: data, index: index}
	if len(data) > 0 {
		var version int
		p, _ := nextPart(data, true)
		_, err := fmt.Sscanf(string(p.bytes), preamble+"%d", &version)
		switch {
		case p.kind != skipped || err != nil:
		case version > Version:
			return nil, &damage{f.path, fmt.Sprintf("a newer dwatch wrote it, in layout %d; this one knows %d", version, Version)}
		default:
			return s, nil
		}
	}
	if len(data) == 0 {
		return nil, &damage{f.path, "it is empty"}
	}
	return nil, &damage{f.path, "it is no recording of dwatch"}
}

// lastIndex returns the index with which a segment ends; nil if there is none.
func lastIndex(data []byte) *index {
	if len(data) < 8 || string(data[len(data)-4:]) != trailer {
		return nil
	}
	end := len(data) - 8
	size := int64(binary.LittleEndian.Uint32(data[end:]))
	if size > int64(end) {
		return nil
	}
	return parseIndex(data[int64(end)-size:])
}

// lines calls take for each line, in order, and lost for what can't be read. Its error is that of
// take, or io.EOF if that is enough.
func (s *segment) lines(u *unpacker, take func(text string) error, lost func(*damage)) error {
	for rest := s.data; len(rest) > 0; {
		var p part
		p, rest = nextPart(rest, s.index != nil)
		switch p.kind {
		case skipped:
			continue
		case damaged:
			lost(&damage{s.path, fmt.Sprintf("%d bytes are damaged", len(p.bytes))})
			continue
		}
		text, err := u.unpack(p)
		if err != nil {
			lost(&damage{s.path, "a part is damaged: " + err.Error()})
			continue // what came out of it may be wrong
		}
		if err := eachLine(text, take); err != nil {
			return err
		}
	}
	return nil
}

// errEnd ends the reading of lines.
var errEnd = io.EOF

func eachLine(text []byte, take func(string) error) error {
	all := string(text) // which the objects share
	for {
		one, rest, whole := strings.Cut(all, "\n")
		if !whole {
			return nil
		}
		if err := take(one); err != nil {
			return err
		}
		all = rest
	}
}
