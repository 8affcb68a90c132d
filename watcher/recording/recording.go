package recording

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/watcher/event"
)

// Recording is what a directory holds, as it was when it was read.
type Recording struct {
	files     []file
	notes     []string
	about     About
	begin     time.Time
	end       time.Time
	resources []metav1.APIResource
	targets   []event.Key
}

// ErrNone means that a directory holds no recording.
var ErrNone = errors.New("it holds no recording: dwatch record DIR RESOURCE... makes one")

// Read reads what there is to know of a recording before it is asked for anything. What of it can't
// be read is left out, and noted.
func Read(dir string) (*Recording, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("it is no directory: a recording is one")
	}
	files, foreign, err := list(dir)
	if err != nil {
		return nil, err
	}
	r := &Recording{}
	for _, name := range foreign {
		r.notes = append(r.notes, name+": it is no part of a recording")
	}
	for _, f := range files {
		if err := r.add(f); err != nil {
			return nil, err
		}
	}
	if len(r.files) == 0 {
		return nil, errors.Join(append([]error{ErrNone}, asErrors(r.notes)...)...)
	}
	return r, nil
}

func asErrors(notes []string) (all []error) {
	for _, n := range notes {
		all = append(all, errors.New(n))
	}
	return all
}

// add reads what there is to know of a segment: its header, and what its index says; of one
// without an index all lines are read.
func (r *Recording) add(f file) error {
	s, err := peek(f)
	if err == nil && s.index == nil {
		s, err = load(f)
	}
	switch d := new(damage); {
	case errors.Is(err, fs.ErrNotExist): // dropped meanwhile
		return nil
	case errors.As(err, &d):
		r.notes = append(r.notes, d.Error())
		return nil
	case err != nil:
		return err
	}
	u, err := newUnpacker()
	if err != nil {
		return err
	}
	defer u.close()
	h, err := r.skim(s, u)
	if err != nil {
		return err
	}
	if h == nil {
		r.notes = append(r.notes, (&damage{f.path, "its begin is damaged: it is left out"}).Error())
		return nil
	}
	if r.about = h.About; len(r.files) == 0 {
		r.begin = h.Time.Time
	}
	for _, t := range h.Targets {
		r.target(t.key())
	}
	if s.index != nil {
		r.learn(s.index.Resources...)
		r.end = later(r.end, s.index.To.Time)
		for _, t := range s.index.Targets {
			r.target(t.key())
		}
	}
	r.files = append(r.files, f)
	return nil
}

// skim reads the header of a segment, and if it has no index which resources and targets it has.
func (r *Recording) skim(s *segment, u *unpacker) (h *header, err error) {
	lines := newReader()
	err = s.lines(u, func(text string) error {
		l, err := lines.read(text)
		r.end = later(r.end, l.Time)
		switch {
		case h == nil:
			if h = l.header; h == nil || err != nil || s.index != nil {
				return errEnd
			}
		case err != nil:
		case l.resource != nil:
			r.learn(*l.resource)
		case !l.own() && l.Type.IsMark() && l.Target.Mapping != nil:
			r.target(l.Target.Key())
		}
		return nil
	}, func(*damage) {})
	if errors.Is(err, errEnd) {
		err = nil
	}
	return h, err
}

func (r *Recording) learn(all ...metav1.APIResource) {
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

func (r *Recording) target(key event.Key) {
	if !slices.Contains(r.targets, key) {
		r.targets = append(r.targets, key)
	}
}

// Notes are what can't be read, a line each.
func (r *Recording) Notes() []string { return r.notes }

// About is what the last run recorded.
func (r *Recording) About() About { return r.about }

// End is the time of its last line.
func (r *Recording) End() time.Time { return r.end }

// Begin is when it begins.
func (r *Recording) Begin() time.Time { return r.begin }

// Resources are those of which there is something, in all runs.
func (r *Recording) Resources() []metav1.APIResource { return r.resources }

// Has reports whether what a target names was recorded, at some time.
func (r *Recording) Has(t event.Target) bool {
	return slices.ContainsFunc(r.targets, func(k event.Key) bool { return covers(k, t.Key()) })
}

// Recorded are the targets that were recorded.
func (r *Recording) Recorded() []event.Key { return r.targets }
