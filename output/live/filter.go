package live

import (
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// conditionWord is before an expression in a filter.
const conditionWord = "where "

// filter says which rows are shown. The zero value shows all.
type filter struct {
	typed string
	// words must all be in a row, in any case; those behind a ! must not.
	words, without []string
	// holds is the expression; nil: none.
	holds func(event.Object) bool
}

func parseText(typed string) filter {
	f := filter{typed: strings.TrimSpace(typed)}
	for word := range strings.FieldsSeq(strings.ToLower(typed)) {
		if not, ok := strings.CutPrefix(word, "!"); ok && not != "" {
			f.without = append(f.without, not)
		} else {
			f.words = append(f.words, word)
		}
	}
	return f
}

// isCondition reports whether a filter is an expression, and returns that.
func isCondition(typed string) (string, bool) {
	return strings.CutPrefix(strings.TrimLeft(typed, " "), conditionWord)
}

// beginsCondition reports whether one may be being typed: not all rows disappear on the way.
func beginsCondition(typed string) bool {
	typed = strings.TrimLeft(typed, " ")
	return len(typed) > 1 && strings.HasPrefix(conditionWord, typed)
}

func (f *filter) matches(s *section, r *row) bool {
	if f.holds != nil {
		return f.holds(r.Object)
	}
	if len(f.words)+len(f.without) == 0 {
		return true
	}
	text := strings.ToLower(s.resource.Resource + " " + r.Of.Namespace + " " + r.Of.Name + " " + strings.Join(r.cells, " ") + " " + r.why())
	contained := func(word string) bool { return strings.Contains(text, word) }
	return !slices.ContainsFunc(f.words, func(word string) bool { return !contained(word) }) && !slices.ContainsFunc(f.without, contained)
}
