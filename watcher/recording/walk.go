package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dwatch/watcher/event"
)

// walker reads segments in order, and derives their coverage. All code that reads lines uses it, so that unreadable parts
// always appear as gaps.
type walker struct {
	coverage *coverage
	reader   *lineReader
	unpack   *unpacker
	// take is called for each verified line, after coverage has observed it. Its error ends the walk.
	take func(l *line) error
	// onFrameEnd is called before the memory of lines is reused. It may be nil.
	onFrameEnd func() error
	// targets are the targets of the query. If empty, no segment is skipped.
	targets []event.Target
	// damaged lists the unreadable parts.
	damaged []*damage
	header  *header // the last one that was read
	// unchecked has the lines after the last checksum of the last segment.
	unchecked string
}

// errEnd ends a walk without an error.
var errEnd = errors.New("stop reading")

// newWalker returns a walker. coverageGap is Query.CoverageGap.
func newWalker(coverageGap func(event.Selection) string) (*walker, error) {
	u, err := newUnpacker()
	w := &walker{coverage: newCoverage(), reader: newReader(), unpack: u}
	w.coverage.compareSelection = coverageGap
	return w, err
}

func (w *walker) close() { w.unpack.close() }

// walk reads segments. It returns nil if take returns errEnd.
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

// skip skips a segment and returns true if its lines are not needed: the segment follows the previous one, and its index
// proves that the targets were covered all the time and have no events.
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

// segment reads a segment. If a part is unreadable, coverage ends until the next segment begins. The last segment may be
// empty.
func (w *walker) segment(ctx context.Context, f file, isLast bool) error {
	s, err := load(ctx, f)
	switch d := new(damage); {
	case errors.As(err, &d) && isLast && f.isJustCreated(ctx):
		return nil
	case errors.As(err, &d):
		w.addDamage(d)
		return nil
	case isGone(err): // the number of the next segment shows that it is missing
		return nil
	case err != nil:
		return err
	}
	return w.read(ctx, s, isLast)
}

// read reads the lines of a loaded segment.
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

// segmentReader is the state of reading a segment.
type segmentReader struct {
	*walker
	segment   *segment
	lines     int
	present   int  // number of PRESENT lines
	begun     bool // the header has been read
	isLast    bool
	ignored   bool // the header is damaged or of another cluster, and no line is used
	isDamaged bool // a part is unreadable
}

func (r *segmentReader) reportDamage(why string) {
	if !r.isDamaged {
		r.addDamage(&damage{r.segment.path, why})
	}
	r.isDamaged = true
}

// line takes the next line.
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
		r.reportDamage("its header is damaged, skipping the segment")
		r.ignored = true
		return nil
	case r.begun && l.header != nil:
		r.reportDamage("it has two headers")
		return nil
	case l.header != nil && r.header != nil && l.header.mismatch(r.header.RunInfo) != "":
		r.reportDamage(l.header.mismatch(r.header.RunInfo) + ", skipping the segment")
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

// check compares the number of lines with the numbers in CHECKED and SNAPSHOT lines.
func (r *segmentReader) check(l *line) {
	switch {
	case l.Type == presentLine:
		r.present++
	case l.Type == checkedLine && l.Count != r.lines-1:
		r.reportDamage(fmt.Sprintf("lines are missing: %d of %d were read", r.lines-1, l.Count))
	case l.Type == snapshotLine && l.Count != r.present:
		r.reportDamage(fmt.Sprintf("%d of %d objects are missing that existed when it began", l.Count-r.present, l.Count))
	case l.Type == snapshotLine && !r.isDamaged:
		r.coverage.complete()
	}
}

// end is called after the last line.
func (r *segmentReader) end() {
	index := r.segment.index
	switch {
	case !r.begun && r.isLast && !r.isDamaged: // it is being created
		return
	case !r.begun && !r.isDamaged:
		r.reportDamage("it has no header")
	case index != nil && index.Lines != r.lines && !r.isDamaged:
		r.reportDamage(fmt.Sprintf("lines are missing: %d of %d were read", r.lines, index.Lines))
	}
	r.coverage.segmentEnded = index != nil && !r.isDamaged
}

// damageMessages returns descriptions of the unreadable parts, one line each.
func (w *walker) damageMessages() (all []string) {
	for _, d := range w.damaged {
		if text := d.Error(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
