package live

import (
	"slices"
	"strings"

	"dwatch/output/inventory"
)

// conditionPrefix precedes an expression in a filter.
const conditionPrefix = "where "

// filter selects the rows to show. The zero value shows all.
type filter struct {
	typed string
	// words must all occur in a row, regardless of case. excluded words, typed with !, must not occur.
	words, excluded []string
	// managers are parts of names, in lower case, of managers that must have changed the object.
	managers []string
	// condition is the expression, which is slow to evaluate. nil means none.
	condition func(*inventory.State) bool
}

func parseText(typed string) filter {
	f := filter{typed: strings.TrimSpace(typed)}
	for word := range strings.FieldsSeq(strings.ToLower(typed)) {
		if name, is := strings.CutPrefix(word, managerPrefix); is {
			f.managers = append(f.managers, name)
		} else if not, ok := strings.CutPrefix(word, "!"); ok && not != "" {
			f.excluded = append(f.excluded, not)
		} else {
			f.words = append(f.words, word)
		}
	}
	return f
}

// managerPrefix precedes a part of a manager's name.
const managerPrefix = "who:"

// isCondition returns the expression of a filter, and whether it is one.
func isCondition(typed string) (string, bool) {
	return strings.CutPrefix(strings.TrimLeft(typed, " "), conditionPrefix)
}

// isUnfinished reports whether the typed text may be the beginning of an expression or of a manager's name. Such a text
// is not applied yet, so that the rows do not disappear while the user types.
func isUnfinished(typed string) bool {
	_, is := isCondition(typed)
	last := typed[strings.LastIndexByte(typed, ' ')+1:]
	typed = strings.TrimLeft(typed, " ")
	return is || len(typed) > 1 && strings.HasPrefix(conditionPrefix, typed) || len(last) > 1 && strings.HasPrefix(managerPrefix, last)
}

// matchesCondition reports whether the expression holds, or there is none.
func (f *filter) matchesCondition(r *row) bool { return f.condition == nil || f.condition(r.State) }

// needsManagers reports whether the filter depends on the managers of objects.
func (f *filter) needsManagers() bool { return len(f.words)+len(f.managers) > 0 }

// containsAll reports whether names contains each element of who. Both are in lower case.
func containsAll(who []string, names string) bool {
	return !slices.ContainsFunc(who, func(name string) bool { return !strings.Contains(names, name) })
}

// hasWords reports whether a row, changed by managers, matches all parts of the filter except the condition.
func (f *filter) hasWords(s *section, r *row, managers []string) bool {
	if len(f.words)+len(f.excluded)+len(f.managers) == 0 {
		return true
	}
	by := strings.ToLower(strings.Join(managers, "\n"))
	if !containsAll(f.managers, by) {
		return false
	}
	text := strings.ToLower(s.resource.Resource + " " + r.Entry.Cluster + " " + r.Entry.Namespace + " " + r.Entry.Name + " " + strings.Join(r.cells, " ") + " " + r.stateText())
	contained := func(word string) bool { return strings.Contains(text, word) }
	return !slices.ContainsFunc(f.words, func(word string) bool { return !contained(word) && !strings.Contains(by, word) }) && !slices.ContainsFunc(f.excluded, contained)
}
