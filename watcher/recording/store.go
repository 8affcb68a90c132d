package recording

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dwatch/watcher/event"
)

// Store provides the segment files of a recording: a local directory, or a remote one.
type Store interface {
	// List returns the files in any order.
	List(ctx context.Context) ([]StoredFile, error)
	// Read returns the bytes of a file from one offset to another, or to its end if that comes first. A negative to means
	// the end. If the file does not exist any more, the error is fs.ErrNotExist.
	Read(ctx context.Context, name string, from, to int64) ([]byte, error)
}

// StoredFile is a file in a Store.
type StoredFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Head is the start of the file, usually including the header, and Tail the end including the index. Both are nil if List
	// has not read them, and Tail is nil if there is no index.
	Head []byte `json:"head,omitempty"`
	Tail []byte `json:"tail,omitempty"`
	// WithheldReason is why the file may not be read. If empty, it may.
	WithheldReason string `json:"withheld,omitempty"`
}

// Dir is a Store for a local directory.
type Dir string

// List implements Store.
func (d Dir) List(context.Context) (all []StoredFile, err error) {
	if info, err := os.Stat(string(d)); err == nil && !info.IsDir() {
		return nil, errors.New("it is not a directory, as a recording is")
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !isCalledSegment(e.Name()) {
			continue
		}
		one := StoredFile{Name: e.Name(), Size: -1} // -1 means no regular file
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			one.Size = info.Size()
		}
		all = append(all, one)
	}
	return all, nil
}

// Open opens a file of the directory.
func (d Dir) Open(name string) (*os.File, error) { return os.Open(filepath.Join(string(d), name)) }

// Read implements Store.
func (d Dir) Read(_ context.Context, name string, from, to int64) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if to < 0 || to > info.Size() {
		to = info.Size()
	}
	data := make([]byte, min(max(to-from, 0), MaxSegmentBytes))
	n, err := f.ReadAt(data, from)
	if errors.Is(err, io.EOF) {
		err = nil // the file was truncated after Stat; readers notice by its checksums
	}
	return data[:n], err
}

// isCalledSegment reports whether a file may be a segment according to its name.
func isCalledSegment(name string) bool {
	return strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".")
}

// segmentsOf returns the segments of a store in order. foreign are the names of files that look like segments but are none.
func segmentsOf(ctx context.Context, store Store) (files []file, foreign []string, err error) {
	all, err := store.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range all {
		digits, _, _ := strings.Cut(one.Name, "-")
		number, err := strconv.Atoi(digits)
		if !isCalledSegment(one.Name) || filepath.Base(one.Name) != one.Name || err != nil || number <= 0 || one.Size < 0 {
			foreign = append(foreign, one.Name)
			continue
		}
		f := file{store: store, path: one.Name, number: number, size: one.Size, head: one.Head, tail: one.Tail, withheld: one.WithheldReason}
		if d, ok := store.(Dir); ok {
			f.path = filepath.Join(string(d), one.Name)
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b file) int { return a.number - b.number })
	return files, foreign, nil
}

// list returns segmentsOf for a local directory.
func list(dir string) (files []file, foreign []string, err error) {
	return segmentsOf(context.Background(), Dir(dir))
}

// Segment describes a segment file.
type Segment struct {
	StoredFile
	RunInfo *RunInfo // nil if the header is unreadable
	// Targets are the targets that may have objects in the segment. If the segment has no index, they are only the targets
	// that had been listed, or had objects, before the segment began.
	Targets []event.Key
	// IsEmpty means that the segment is being created and has no header yet.
	IsEmpty bool
}

// IsComplete reports whether the segment has an index and does not change any more.
func (s Segment) IsComplete() bool { return s.RunInfo != nil && s.Tail != nil }

// ListSegments returns the segments of a store in order, with Head and Tail. Other files are left out. known has earlier
// results by file name. Complete segments in it are not read again if their size is the same.
func ListSegments(ctx context.Context, store Store, known map[string]Segment) (all []Segment, err error) {
	files, _, err := segmentsOf(ctx, store)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		one := known[f.name()]
		if !one.IsComplete() || one.Size != f.size {
			one, err = inspectSegment(ctx, f, i == len(files)-1)
		}
		switch {
		case isGone(err):
		case err != nil:
			return nil, err
		default:
			all = append(all, one)
		}
	}
	return all, nil
}

// inspectSegment reads the header and the index of a segment.
func inspectSegment(ctx context.Context, f file, isLast bool) (one Segment, err error) {
	one.StoredFile = StoredFile{Name: f.name(), Size: f.size}
	s, err := peek(ctx, f)
	if isDamage(err) {
		one.IsEmpty = isLast && f.isJustCreated(ctx)
		return one, nil
	}
	if err != nil {
		return one, err
	}
	h, damaged, err := headerOf(ctx, s)
	if err != nil {
		return one, err
	}
	one.Head, one.IsEmpty = s.headBytes(), h == nil && !damaged && isLast
	if one.Tail = s.tail; h != nil {
		one.RunInfo, one.Targets = &h.RunInfo, h.targetsWithObjects(s.index)
	}
	return one, nil
}

// targetsWithObjects returns Segment.Targets. i may be nil.
func (h *header) targetsWithObjects(i *index) (all []event.Key) {
	states := h.Targets
	if i != nil {
		states = append(slices.Clip(states), i.Targets...)
	}
	for _, s := range states {
		if key := s.key(); (s.HasObjects || s.Synced) && !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return all
}

// headBytes returns the bytes up to the end of the header, or s.data if the end is not in it.
func (s *segment) headBytes() []byte {
	_, rest := nextPart(s.data, true)
	if n := frameSize(rest); n > 0 {
		return s.data[:len(s.data)-len(rest)+n]
	}
	return s.data
}

// headerOf reads the header of a segment that peek returned. It returns nil if the header is damaged or not complete yet.
func headerOf(ctx context.Context, s *segment) (h *header, damaged bool, err error) {
	w, err := newWalker(nil)
	if err != nil {
		return nil, false, err
	}
	defer w.close()
	w.take = func(*line) error { return errEnd }
	if err = w.read(ctx, s, true); w.header == nil { // the header is longer than the bytes that peek has read
		err = w.segment(ctx, s.file, true)
	}
	if errors.Is(err, errEnd) {
		err = nil
	}
	return w.header, len(w.damaged) > 0, err
}
