package lookup

import (
	"maps"
	"slices"
	"sync"
)

const (
	// maxRemembered is how many bytes the values may have that are remembered, of Secrets that were read last, and
	// maxOfOne those of one.
	maxRemembered, maxOfOne = 64 << 20, 16 << 20
	// maxKnown is of how many Secrets that is, and maxBegins for how many runs with one of them.
	maxKnown, maxBegins = 200, 1000
)

// secrets remembers what Secrets held whenever they were read: one may have been deleted, or have other values,
// when a log is shown of a container that was started with these. Of what is forgotten it is not known what a
// container was started with. It may be used by several goroutines.
type secrets struct {
	mu    sync.Mutex
	known map[named]*remembered
	size  int // of all values
	reads int
}

type named struct{ namespace, name string }

// remembered is what is known of a Secret.
type remembered struct {
	values secretValues
	size   int
	// begins says whether what it held when a run of a container began is known: it was read since, and not
	// written in between. Of others it was not read since. runs are those, the first that was asked for first.
	begins map[run]bool
	runs   []run
	read   int // when, of all that are read
}

func newSecrets() *secrets { return &secrets{known: map[named]*remembered{}} }

// has returns what is known of a Secret, nil if that is nothing.
func (s *secrets) has(of named) secretValues {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known[of]; known != nil {
		return maps.Clone(known.values)
	}
	return nil
}

// add remembers values that a Secret has had since it was written, and returns all that is known of it. runs began
// before it was read.
func (s *secrets) add(of named, values secretValues, w written, runs []run) secretValues {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[of]
	if known == nil || known.sizeWith(values) > maxOfOne {
		s.forget(of)
		known = &remembered{values: secretValues{}, begins: map[run]bool{}}
		s.known[of] = known
	}
	s.reads++
	known.read = s.reads
	before := known.size
	known.size = known.sizeWith(values)
	maps.Copy(known.values, values)
	s.size += known.size - before
	for _, r := range runs {
		known.begin(r.started(), w.before(r.began))
	}
	all := maps.Clone(known.values)
	for len(s.known) > maxKnown || s.size > maxRemembered {
		s.forget(s.oldest())
	}
	return all
}

func (s *secrets) forget(of named) {
	if known := s.known[of]; known != nil {
		s.size -= known.size
		delete(s.known, of)
	}
}

// oldest is the Secret that was read longest ago.
func (s *secrets) oldest() (of named) {
	read := s.reads + 1
	for one, known := range s.known {
		if known.read < read {
			of, read = one, known.read
		}
	}
	return of
}

// isKnown reports whether it is known what a Secret held when a run began, and whether that was looked for.
func (s *secrets) isKnown(of named, r run) (known, asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.known[of]; one != nil {
		known, asked = one.begins[r.started()]
	}
	return known, asked
}

// sizeWith is how many bytes there are with other values.
func (m *remembered) sizeWith(values secretValues) int {
	size := m.size
	for value := range values {
		if _, is := m.values[value]; !is {
			size += len(value)
		}
	}
	return size
}

func (m *remembered) begin(r run, known bool) {
	if _, is := m.begins[r]; !is {
		m.runs = append(m.runs, r)
	}
	m.begins[r] = m.begins[r] || known
	if len(m.runs) > maxBegins {
		delete(m.begins, m.runs[0])
		m.runs = slices.Delete(m.runs, 0, 1)
	}
}

// started is the run by its begin, whatever has become of it.
func (r run) started() run {
	r.previous = false
	return r
}
