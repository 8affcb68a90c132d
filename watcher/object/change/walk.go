package change

import (
	"reflect"
	"slices"
)

// walk compares two objects by traversing them in parallel.
type walk struct {
	options   Options
	masks     masks
	fields    fields
	path      Path // of the current values; changes get copies
	lastNoise Path // the path that was last counted as noise
	changes   []Change
	noise     int
}

func (w *walk) push(s Step) { w.path = append(w.path, s) }
func (w *walk) pop()        { w.path = w.path[:len(w.path)-1] }

func (w *walk) maps(old, new map[string]any) {
	both := 0
	for name, was := range old {
		is, there := new[name]
		if there {
			both++
			if isScalar(was) && equal(was, is) {
				continue
			}
		}
		w.push(Step{Field: name})
		if there {
			w.values(was, is)
		} else {
			w.emit(Removed, was, nil)
		}
		w.pop()
	}
	if both == len(new) {
		return
	}
	for name, is := range new {
		if _, there := old[name]; !there {
			w.push(Step{Field: name})
			w.emit(Added, nil, is)
			w.pop()
		}
	}
}

func (w *walk) values(old, new any) {
	switch was := old.(type) {
	case map[string]any:
		if is, ok := new.(map[string]any); ok {
			w.maps(was, is)
			return
		}
	case []any:
		if is, ok := new.([]any); ok {
			w.lists(was, is)
			return
		}
	}
	switch {
	case equal(old, new):
	case isScalar(old) && isScalar(new) && sameMeaning(w.path, old, new):
		w.emit(Rewritten, old, new)
	case reflect.TypeOf(old) != reflect.TypeOf(new):
		w.emit(TypeChanged, old, new)
	default:
		w.emit(Changed, old, new)
	}
}

type decision int

const (
	report decision = iota
	split           // Options.Only names only parts of the value
	noise
	skip // Options.Only names neither the value nor a part of it
)

// decide returns what to do with a change at the path. For noise, it also returns the number of steps in the prefix that a
// noise pattern names.
func (w *walk) decide() (decision, int) {
	noiseDepth, _ := w.options.Noise.Paths.match(w.path)
	if len(w.options.Only) == 0 {
		if noiseDepth > 0 {
			return noise, noiseDepth
		}
		return report, 0
	}
	onlyDepth, below := w.options.Only.match(w.path)
	switch {
	case onlyDepth > 0 && onlyDepth >= noiseDepth:
		return report, 0
	case below:
		return split, 0
	case onlyDepth > 0:
		return noise, noiseDepth
	}
	return skip, 0
}

// emit reports a change at the path, or the parts of it that are not noise and are selected.
func (w *walk) emit(kind Kind, old, new any) {
	decision, noiseDepth := w.decide()
	switch {
	case decision == noise:
		w.count(w.path[:noiseDepth])
	case decision == split && (kind == Added || kind == Removed):
		w.parts(kind, old, new)
	case decision == split && kind == TypeChanged:
		w.parts(Removed, old, nil)
		w.parts(Added, nil, new)
	case decision != report:
	case kind == Moved && w.options.Noise.UnorderedLists.Match(w.path):
		w.noise++
	case kind == Added && isZero(new) && w.options.Noise.OptionalZeros.Match(w.path),
		kind == Removed && isZero(old) && w.options.Noise.OptionalZeros.Match(w.path):
		w.noise++
	case kind == Added && w.prune(&new), kind == Removed && w.prune(&old):
		// Only noise, which prune has counted.
	default:
		w.changes = append(w.changes, w.change(kind, old, new))
	}
}

func (w *walk) change(kind Kind, old, new any) Change {
	c := Change{Path: slices.Clone(w.path), Kind: kind, Old: old, New: new, Writer: w.fields.writerOf(w.path, kind)}
	if len(w.masks) > 0 {
		w.hide(&c)
	}
	return c
}

func (w *walk) hide(c *Change) {
	hider := hider{masks: w.masks, fields: &w.fields, path: w.path}
	if c.Kind != Moved { // these are indexes
		c.Old, c.New = hider.value(c.Old), hider.value(c.New)
	}
	c.Path = hider.hidePath(c.Path)
	c.Masked = hider.found
}

// count counts the value at the path as noise, only once for consecutive changes in it.
func (w *walk) count(path Path) {
	if w.noise == 0 || !slices.Equal(path, w.lastNoise) {
		w.noise++
		w.lastNoise = append(w.lastNoise[:0], path...)
	}
}

// parts emits the parts of a value that was added or removed.
func (w *walk) parts(kind Kind, old, new any) {
	value := old
	if kind == Added {
		value = new
	}
	for step, part := range w.fields.children(w.path, value) {
		w.push(step)
		if kind == Added {
			w.emit(kind, nil, part)
		} else {
			w.emit(kind, part, nil)
		}
		w.pop()
	}
}
