package change

import "slices"

// Pattern names parts of objects; see [ParsePattern]. The zero Pattern matches nothing.
type Pattern struct {
	text  string
	steps []matcher
}

type Patterns []Pattern

func (p Pattern) String() string { return p.text }

// FixedPrefix returns the names of the fields with which the pattern starts. Everything that it matches is at or below
// them.
func (p Pattern) FixedPrefix() (names []string) {
	for _, m := range p.steps {
		if m.kind != namedField || m.deep {
			break
		}
		names = append(names, m.name)
	}
	return names
}

// Match reports whether the pattern names the path or a part of the object above it.
func (p Pattern) Match(path Path) bool {
	depth, _ := follow(p.steps, path)
	return depth > 0
}

func (ps Patterns) Match(path Path) bool {
	return slices.ContainsFunc(ps, func(p Pattern) bool { return p.Match(path) })
}

// match returns the number of steps in the longest prefix of the path that a pattern names (0 if none), and whether a
// pattern could match below the path.
func (ps Patterns) match(path Path) (depth int, below bool) {
	for i := range ps {
		d, b := follow(ps[i].steps, path)
		depth, below = max(depth, d), below || b
	}
	return depth, below
}

// follow returns the number of steps in the prefix of the path that the pattern names, or 0 if the pattern does not
// match. below is true if it could match below the path.
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

// followDeep is follow for a pattern whose first step may match at any depth. It prefers the shortest prefix.
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
	indexOrName                    // [2], which can also be the name of a field
	keyedItem                      // [name=web]
	setItem                        // [=value]
)

// matcher is one step of a pattern.
type matcher struct {
	kind  matcherKind
	name  string // the field, or the value in a set
	index int
	keys  []Key // the values are strings
	deep  bool  // follows "..", so any number of steps may precede
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
