package change

import "slices"

// Pattern names parts of objects; see [ParsePattern]. The zero Pattern matches nothing.
type Pattern struct {
	text  string
	steps []matcher
}

type Patterns []Pattern

func (p Pattern) String() string { return p.text }

// Fields returns the names of the fields with which the pattern begins: whatever it
// matches is there, or below.
func (p Pattern) FixedPrefix() (names []string) {
	for _, m := range p.steps {
		if m.kind != namedField || m.deep {
			break
		}
		names = append(names, m.name)
	}
	return names
}

// Match reports whether p names the path or something above it.
func (p Pattern) Match(path Path) bool {
	depth, _ := follow(p.steps, path)
	return depth > 0
}

func (ps Patterns) Match(path Path) bool {
	return slices.ContainsFunc(ps, func(p Pattern) bool { return p.Match(path) })
}

// match returns the highest depth at which a pattern matches, and whether one could
// match below.
func (ps Patterns) match(path Path) (depth int, below bool) {
	for i := range ps {
		d, b := follow(ps[i].steps, path)
		depth, below = max(depth, d), below || b
	}
	return depth, below
}

// follow returns the number of steps of path that a pattern names, 0 if it does not match,
// and whether it could match something below path instead.
func follow(steps []matcher, path Path) (depth int, below bool) {
	for i := range steps {
		if steps[i].deep {
			depth, below = followDeep(steps[i:], path[min(i, len(path)):])
			if depth > 0 {
				depth += i
			}
			return depth, below
		}
		if i == len(path) {
			return 0, true
		}
		if !steps[i].matches(path[i]) {
			return 0, false
		}
	}
	return len(steps), false
}

// followDeep lets the first of the steps match anywhere, as far up as possible.
func followDeep(steps []matcher, path Path) (depth int, below bool) {
	for skipped := range path {
		if !steps[0].matches(path[skipped]) {
			continue
		}
		if len(steps) == 1 {
			return skipped + 1, false
		}
		if depth, _ := follow(steps[1:], path[skipped+1:]); depth > 0 {
			return skipped + 1 + depth, false
		}
	}
	return 0, true
}

type matcherKind int

const (
	anyStep     matcherKind = iota // *
	namedField                     // name, ["name"]
	indexOrName                    // [2], which may be the name of a field, too
	keyedItem                      // [name=web]
	setItem                        // [=value]
)

// matcher is one step of a pattern.
type matcher struct {
	kind  matcherKind
	name  string // of a field, or the value in a set
	index int
	keys  []Key // their values are text
	deep  bool  // ".." is before it: any number of steps may come first
}

func (m *matcher) matches(s Step) bool {
	switch m.kind {
	case namedField:
		return s.Item == nil && s.Field == m.name
	case indexOrName:
		if s.Item != nil {
			return s.Item.Index == m.index
		}
		return s.Field == m.name
	case keyedItem:
		return s.Item != nil && !slices.ContainsFunc(m.keys, func(want Key) bool { return !s.Item.has(want.Name, want.Value.(string)) })
	case setItem:
		return s.Item != nil && s.Item.InSet && scalarText(s.Item.Value) == m.name
	}
	return true
}
