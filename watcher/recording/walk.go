package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dwatch/watcher/event"
)

// walker reads segments, one after the other, and keeps account of what is known by them. It is the
// only way to read lines, and whatever can't be read shows in sights.
type walker struct {
	coverage *coverage
	reader   *lineReader
	unpack   *unpacker
	// take gets each line that is as it was written, after sights has; its error ends the walk.
	take func(l *line) error
	// frame is called where the memory of lines is used again; nil: nothing is kept.
	onFrameEnd func() error
	// targets are those that are asked for; nil: whatever there is.
	targets []event.Target
	// damaged is what can't be read.
	damaged []*damage
	header  *header // the last that was read
	// unchecked is what follows the last sum of the segment that was read last.
	unchecked string
}

// errEnd ends a walk that has seen enough.
var errEnd = errors.New("no more is read")

func newWalker(covers func(event.Selection) string) (*walker, error) {
	u, err := newUnpacker()
	w := &walker{coverage: newCoverage(), reader: newReader(), unpack: u}
	w.coverage.compareSelection = covers
	return w, err
}

func (w *walker) close() { w.unpack.close() }

// walk reads the segments of files. It ends with nil when take says that this is enough.
func (w *walker) walk(ctx context.Context, files []file) error {
	for i, f := range files {
		if i > 0 && w.skip(f) {
			continue
		}
		switch err := w.segment(ctx, f, i == len(files)-1); {
		case errors.Is(err, errEnd):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// skips passes over a segment that has nothing of what is asked for, if it goes on from the one before
// and all of that was known from its begin to its end, as its index says.
func (w *walker) skip(f file) bool {
	if len(w.targets) == 0 || f.header == nil || f.index == nil || !w.coverage.continues(f.header) {
		return false
	}
	if w.coverage.definitions != nil && f.index.touches(definitionKey) {
		return false
	}
	for _, t := range w.targets {
		if f.index.touches(t.Key()) || !w.coverage.isCovered(t.Key()) {
			return false
		}
	}
	for _, state := range f.index.Targets {
		if one := w.coverage.all[state.key()]; one != nil && !one.since.IsZero() && (state.CoveredSince == nil || !state.CoveredSince.Before(f.header.Time.Time)) {
			return false
		}
	}
	w.coverage.skipSegment(f.header, f.index)
	return true
}

// segment reads one segment. What can't be read of it is not known from the last line before it on,
// until a segment begins after it. The last may just begin.
func (w *walker) segment(ctx context.Context, f file, isLast bool) error {
	s, err := load(ctx, f)
	switch d := new(damage); {
	case errors.As(err, &d) && isLast && f.isJustCreated(ctx):
		return nil
	case errors.As(err, &d):
		w.addDamage(d)
		return nil
	case isGone(err): // it was dropped meanwhile, as the number of the next shows
		return nil
	case err != nil:
		return err
	}
	return w.read(ctx, s, isLast)
}

// read reads a segment that has been loaded.
func (w *walker) read(ctx context.Context, s *segment, isLast bool) error {
	w.reader = newReader()
	r := &segmentReader{walker: w, segment: s, isLast: isLast}
	err := s.lines(w.unpack, func(text string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return r.line(text)
	}, w.endFrame, r.reportDamage)
	if err != nil {
		return err
	}
	w.unchecked = s.unchecked
	r.end()
	return nil
}

func (w *walker) addDamage(d *damage) {
	w.damaged = append(w.damaged, d)
	w.coverage.fail(reasonDamaged)
}

func (w *walker) endFrame() error {
	if w.onFrameEnd == nil {
		return nil
	}
	return w.onFrameEnd()
}

// segmentRead is how far a segment has been read.
type segmentReader struct {
	*walker
	segment   *segment
	lines     int
	present   int  // objects that were there when it began
	begun     bool // it has its header
	isLast    bool
	ignored   bool // it has not: nothing of it is read
	isDamaged bool // something of it is
}

func (r *segmentReader) reportDamage(why string) {
	if !r.isDamaged {
		r.addDamage(&damage{r.segment.path, why})
	}
	r.isDamaged = true
}

// line reads the next line.
func (r *segmentReader) line(text string) error {
	if r.ignored {
		return nil
	}
	l, err := r.reader.read(text)
	switch {
	case err != nil:
		r.reportDamage(err.Error())
		return nil
	case !r.begun && (l.header == nil || l.header.SegmentNumber != r.segment.number):
		r.reportDamage("its begin is damaged: it is left out")
		r.ignored = true
		return nil
	case r.begun && l.header != nil:
		r.reportDamage("it begins twice")
		return nil
	case l.header != nil && r.header != nil && l.header.mismatch(r.header.RunInfo) != "":
		r.reportDamage(l.header.mismatch(r.header.RunInfo) + ": it is left out")
		r.ignored = true
		return nil
	}
	r.begun = true
	r.lines++
	l.text = text
	r.coverage.observe(&l)
	r.check(&l)
	if l.header != nil {
		r.header = l.header
	}
	return r.take(&l)
}

// check finds out whether lines are missing.
func (r *segmentReader) check(l *line) {
	switch {
	case l.Type == presentLine:
		r.present++
	case l.Type == checkedLine && l.Count != r.lines-1:
		r.reportDamage(fmt.Sprintf("lines are missing: it has %d of %d", r.lines-1, l.Count))
	case l.Type == snapshotLine && l.Count != r.present:
		r.reportDamage(fmt.Sprintf("of what was there when it began %d of %d are missing", l.Count-r.present, l.Count))
	case l.Type == snapshotLine && !r.isDamaged:
		r.coverage.complete()
	}
}

// end: all lines of the segment have been read.
func (r *segmentReader) end() {
	index := r.segment.index
	switch {
	case !r.begun && r.isLast && !r.isDamaged: // it is being made
		return
	case !r.begun && !r.isDamaged:
		r.reportDamage("it has no begin")
	case index != nil && index.Lines != r.lines && !r.isDamaged:
		r.reportDamage(fmt.Sprintf("lines are missing: it has %d of %d", r.lines, index.Lines))
	}
	r.coverage.segmentEnded = index != nil && !r.isDamaged
}

// notes are what can't be read, a line each.
func (w *walker) damageMessages() (all []string) {
	for _, d := range w.damaged {
		if text := d.Error(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
