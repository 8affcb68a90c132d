package lookup

import (
	"maps"
	"slices"
	"sync"
)

const (
	// maxCachedBytes limits the size of all cached values. If the values of one Secret exceed maxSecretBytes, only its current
	// values stay cached.
	maxCachedBytes, maxSecretBytes = 64 << 20, 16 << 20
	// maxCachedSecrets is the maximum number of cached Secrets, and maxRuns of runs per Secret.
	maxCachedSecrets, maxRuns = 200, 1000
)

// secretCache caches the values of Secrets from each time they were read. dwatch needs old values to mask the log of a
// container that started before a Secret was changed or deleted. The cache evicts the least recently read Secrets. It is
// safe for concurrent use.
type secretCache struct {
	mu    sync.Mutex
	known map[secretName]*cachedSecret
	size  int // of all values
	reads int
}

type secretName struct{ namespace, name string }

type cachedSecret struct {
	values secretValues
	size   int
	// begins contains the runs that began before the Secret was read. The value is true if values include the values from the
	// beginning of the run, because the Secret was not written between then and the read.
	begins map[run]bool
	runs   []run // keys of begins, oldest entry first
	read   int   // sequence number of the last read
}

func newSecretCache() *secretCache { return &secretCache{known: map[secretName]*cachedSecret{}} }

// get returns the cached values of a Secret, or nil.
func (s *secretCache) get(of secretName) secretValues {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known[of]; known != nil {
		return maps.Clone(known.values)
	}
	return nil
}

// add caches the current values of a Secret, and returns all its cached values. runs began before the Secret was read.
func (s *secretCache) add(of secretName, values secretValues, w written, runs []run) secretValues {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[of]
	if known == nil || known.sizeWith(values) > maxSecretBytes {
		s.evict(of)
		known = &cachedSecret{values: secretValues{}, begins: map[run]bool{}}
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
	for len(s.known) > maxCachedSecrets || s.size > maxCachedBytes {
		s.evict(s.leastRecent())
	}
	return all
}

func (s *secretCache) evict(of secretName) {
	if known := s.known[of]; known != nil {
		s.size -= known.size
		delete(s.known, of)
	}
}

// leastRecent returns the least recently read Secret.
func (s *secretCache) leastRecent() (of secretName) {
	read := s.reads + 1
	for one, known := range s.known {
		if known.read < read {
			of, read = one, known.read
		}
	}
	return of
}

// isKnown reports whether the values of a Secret at the beginning of a run are cached, and whether the Secret was read for that
// run.
func (s *secretCache) isKnown(of secretName, r run) (known, wasRead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.known[of]; one != nil {
		known, wasRead = one.begins[r.started()]
	}
	return known, wasRead
}

// sizeWith returns the size after adding values.
func (m *cachedSecret) sizeWith(values secretValues) int {
	size := m.size
	for value := range values {
		if _, is := m.values[value]; !is {
			size += len(value)
		}
	}
	return size
}

// begin records whether the values from the beginning of a run are known. Once they are, they stay known.
func (m *cachedSecret) begin(r run, known bool) {
	if _, is := m.begins[r]; !is {
		m.runs = append(m.runs, r)
	}
	m.begins[r] = m.begins[r] || known
	if len(m.runs) > maxRuns {
		delete(m.begins, m.runs[0])
		m.runs = slices.Delete(m.runs, 0, 1)
	}
}

// started returns the run as a key, which stays the same when the run becomes the previous one.
func (r run) started() run {
	r.previous = false
	return r
}
