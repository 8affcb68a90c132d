package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/watcher/event"
)

// Recording has the headers and indexes of the segments that a Store had at the time of Read. Queries read the lines from the
// Store.
type Recording struct {
	files      []file
	withheld   map[int]string // reasons by segment number
	warnings   []string
	lastRun    RunInfo
	selections []event.Selection
	startTime  time.Time
	endTime    time.Time
	// ambiguous are the periods that clocks may have shown twice.
	ambiguous []GapInterval
	resources []metav1.APIResource
	targets   []event.Key
	// unreadable means that the header of a segment is damaged.
	unreadable bool
}

// ErrNoRecording means that a Store has no segments.
var ErrNoRecording = errors.New("it contains no recording: dwatch record DIR RESOURCE... creates one")

// ErrUnreadable means that no header of a segment is readable.
var ErrUnreadable = errors.New("the recording is damaged")

// Read reads the headers and indexes of a recording. Unreadable segments are left out, and reported by Warnings. With
// ErrNoRecording, Read also returns an empty Recording.
func Read(ctx context.Context, store Store) (*Recording, error) {
	files, foreign, err := segmentsOf(ctx, store)
	if err != nil {
		return nil, err
	}
	r := &Recording{withheld: map[int]string{}}
	for _, name := range foreign {
		r.warnings = append(r.warnings, name+": not part of a recording")
	}
	for _, f := range files {
		if f.withheld != "" {
			r.withheld[f.number] = f.withheld
			continue
		}
		if err := r.addSegment(ctx, f); err != nil {
			return nil, err
		}
	}
	r.warnWithheld(files)
	if r.startTime.IsZero() && r.unreadable {
		return nil, fmt.Errorf("%w: %s", ErrUnreadable, strings.Join(r.warnings, "; "))
	}
	if r.startTime.IsZero() && len(r.withheld) == 0 {
		return r, errors.Join(append([]error{ErrNoRecording}, asErrors(r.warnings)...)...)
	}
	return r, nil
}

// warnWithheld adds a warning for each sequence of segments that are withheld for the same reason.
func (r *Recording) warnWithheld(files []file) {
	for len(files) > 0 {
		first, n := files[0], 1
		for n < len(files) && files[n].withheld == first.withheld {
			n++
		}
		switch text := withheldPrefix + first.withheld; {
		case first.withheld == "":
		case n == 1:
			r.warnings = append(r.warnings, first.name()+" is "+text)
		default:
			r.warnings = append(r.warnings, fmt.Sprintf("%s to %s are %s", first.name(), files[n-1].name(), text))
		}
		files = files[n:]
	}
}

func asErrors(notes []string) (all []error) {
	for _, n := range notes {
		all = append(all, errors.New(n))
	}
	return all
}

// addSegment reads the header and index of a segment, or all lines if it has no index. Queries report damage after the
// header.
func (r *Recording) addSegment(ctx context.Context, f file) error {
	s, err := peek(ctx, f)
	switch {
	case isGone(err):
		return nil
	case isDamage(err):
		r.warnings = append(r.warnings, err.Error())
	case err != nil:
		return err
	}
	var h *header
	if err == nil {
		if h, err = r.readHeader(ctx, s); err != nil {
			return err
		}
	}
	if f.header = h; h != nil {
		f.index = s.index
	}
	if r.files = append(r.files, f); h == nil {
		return nil
	}
	if r.startTime.IsZero() {
		r.startTime = h.Time.Time
	} else if why := h.mismatch(r.lastRun); why != "" {
		r.warnings = append(r.warnings, (&damage{f.path, why}).Error())
	}
	r.lastRun = h.RunInfo
	r.endTime = later(r.endTime, h.Time.Time)
	r.selections = append(r.selections, h.Selection)
	r.addResources(h.Resources...)
	if h.LastTime.After(h.Time.Time) {
		r.ambiguous = append(r.ambiguous, GapInterval{From: h.Time.Time, To: h.LastTime.Time, Reason: reasonClockBack})
	}
	if s.index != nil {
		r.addResources(s.index.Resources...)
		r.endTime = later(r.endTime, s.index.To.Time)
		r.addTargets(s.index.Targets...)
	}
	r.addTargets(h.Targets...)
	return nil
}

// readHeader reads the header of a segment, and adds the resources and targets of its lines if it has no index.
func (r *Recording) readHeader(ctx context.Context, s *segment) (*header, error) {
	hasIndex := s.index != nil
	w, err := newWalker(nil)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.take = func(l *line) error {
		if hasIndex {
			return errEnd
		}
		if l.resource != nil {
			r.addResources(*l.resource)
		}
		r.endTime = later(r.endTime, l.Time)
		return nil
	}
	if hasIndex {
		err = w.read(ctx, s, true)
	}
	if w.header == nil { // the header is longer than the bytes that peek has read
		err = w.segment(ctx, s.file, true)
	}
	if errors.Is(err, errEnd) {
		err = nil
	}
	if w.header == nil {
		r.warnings = append(r.warnings, w.damageMessages()...)
		r.unreadable = r.unreadable || len(w.damaged) > 0
	}
	if !hasIndex {
		r.addTargets(w.coverage.states()...)
	}
	return w.header, err
}

// segmentsFrom returns the segments with the events since a time: the last one that begins before it, and all later ones.
func (r *Recording) segmentsFrom(at time.Time) []file {
	for i := len(r.files) - 1; i > 0 && !at.IsZero(); i-- {
		if h := r.files[i].header; h != nil && h.Time.Before(at) {
			return r.files[i:]
		}
	}
	return r.files
}

func (r *Recording) addResources(all ...metav1.APIResource) {
	for _, a := range all {
		same := func(b metav1.APIResource) bool {
			return a.Group == b.Group && a.Version == b.Version && a.Name == b.Name
		}
		if i := slices.IndexFunc(r.resources, same); i < 0 {
			r.resources = append(r.resources, a)
		} else {
			r.resources[i] = a
		}
	}
}

func (r *Recording) addTargets(states ...coverageState) {
	for _, s := range states {
		if key := s.key(); !slices.Contains(r.targets, key) {
			r.targets = append(r.targets, key)
		}
	}
}

// Warnings returns descriptions of unreadable and withheld segments, one line each.
func (r *Recording) Warnings() []string { return r.warnings }

// LastRun returns what the last run recorded.
func (r *Recording) LastRun() RunInfo { return r.lastRun }

// EndTime returns the time of the last line.
func (r *Recording) EndTime() time.Time { return r.endTime }

// StartTime returns the time of the first line.
func (r *Recording) StartTime() time.Time { return r.startTime }

// Resources returns the resources that any run recorded.
func (r *Recording) Resources() []metav1.APIResource { return r.resources }

// HasTarget reports whether any run recorded the target, or a target that includes it.
func (r *Recording) HasTarget(t event.Target) bool {
	return slices.ContainsFunc(r.targets, func(k event.Key) bool { return covers(k, t.Key()) })
}

// Targets returns the targets that any run recorded.
func (r *Recording) Targets() []event.Key { return r.targets }
