package live

import (
	"slices"
	"strings"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// conditionWord is before an expression in a filter.
const conditionWord = "where "

// filter says which rows are shown. The zero value shows all.
type filter struct {
	typed string
	// words must all be in a row, in any case; those behind a ! must not.
	words, without []string
	// holds is the expression, or about who wrote: to ask takes time; nil: nothing is asked.
	holds func(event.Object) bool
}

func parseText(typed string) filter {
	f := filter{typed: strings.TrimSpace(typed)}
	var who []string
	for word := range strings.FieldsSeq(strings.ToLower(typed)) {
		if name, is := strings.CutPrefix(word, whoWord); is {
			who = append(who, name)
		} else if not, ok := strings.CutPrefix(word, "!"); ok && not != "" {
			f.without = append(f.without, not)
		} else {
			f.words = append(f.words, word)
		}
	}
	if len(who) > 0 {
		f.holds = func(o event.Object) bool {
			names := strings.ToLower(strings.Join(change.Managers(o.Raw()), "\n"))
			return !slices.ContainsFunc(who, func(name string) bool { return !strings.Contains(names, name) })
		}
	}
	return f
}

// whoWord is before a part of the name of a program that changed an object.
const whoWord = "who:"

// isCondition reports whether a filter is an expression, and returns that.
func isCondition(typed string) (string, bool) {
	return strings.CutPrefix(strings.TrimLeft(typed, " "), conditionWord)
}

// isUnfinished reports whether an expression, or a question who wrote, may be being typed: not all
// rows disappear on the way.
func isUnfinished(typed string) bool {
	_, is := isCondition(typed)
	last := typed[strings.LastIndexByte(typed, ' ')+1:]
	typed = strings.TrimLeft(typed, " ")
	return is || len(typed) > 1 && strings.HasPrefix(conditionWord, typed) ||
		len(last) > 1 && strings.HasPrefix(whoWord, last) || strings.Contains(" "+typed, " "+whoWord)
}

func (f *filter) matches(s *section, r *row) bool {
	return f.hasWords(s, r) && (f.holds == nil || f.holds(r.Object))
}

func (f *filter) hasWords(s *section, r *row) bool {
	if len(f.words)+len(f.without) == 0 {
		return true
	}
	text := strings.ToLower(s.resource.Resource + " " + r.Of.Namespace + " " + r.Of.Name + " " + strings.Join(r.cells, " ") + " " + r.why())
	contained := func(word string) bool { return strings.Contains(text, word) }
	return !slices.ContainsFunc(f.words, func(word string) bool { return !contained(word) }) && !slices.ContainsFunc(f.without, contained)
}
