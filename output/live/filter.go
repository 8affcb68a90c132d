package live

import (
	"slices"
	"strings"

	"dwatch/output/inventory"
)

// conditionWord is before an expression in a filter.
const conditionWord = "where "

// filter says which rows are shown. The zero value shows all.
type filter struct {
	typed string
	// words must all be in a row, in any case; those behind a ! must not.
	words, without []string
	// who are parts of the names of programs that must have changed it, in lower case.
	who []string
	// holds is the expression: to ask takes time; nil: nothing is asked.
	holds func(*inventory.State) bool
}

func parseText(typed string) filter {
	f := filter{typed: strings.TrimSpace(typed)}
	for word := range strings.FieldsSeq(strings.ToLower(typed)) {
		if name, is := strings.CutPrefix(word, whoWord); is {
			f.who = append(f.who, name)
		} else if not, ok := strings.CutPrefix(word, "!"); ok && not != "" {
			f.without = append(f.without, not)
		} else {
			f.words = append(f.words, word)
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

// isUnfinished reports whether an expression, or who wrote, may begin to be typed: not all rows disappear on the way.
func isUnfinished(typed string) bool {
	_, is := isCondition(typed)
	last := typed[strings.LastIndexByte(typed, ' ')+1:]
	typed = strings.TrimLeft(typed, " ")
	return is || len(typed) > 1 && strings.HasPrefix(conditionWord, typed) || len(last) > 1 && strings.HasPrefix(whoWord, last)
}

// holdsOf reports whether the expression holds, if there is one.
func (f *filter) holdsOf(r *row) bool { return f.holds == nil || f.holds(r.State) }

// asksWho reports whether it takes who changed a row to tell whether that is shown.
func (f *filter) asksWho() bool { return len(f.words)+len(f.who) > 0 }

// isBy reports whether all of who are among some names, which are in lower case.
func isBy(who []string, names string) bool {
	return !slices.ContainsFunc(who, func(name string) bool { return !strings.Contains(names, name) })
}

// hasWords reports whether a row that these programs changed has the words.
func (f *filter) hasWords(s *section, r *row, managers []string) bool {
	if len(f.words)+len(f.without)+len(f.who) == 0 {
		return true
	}
	by := strings.ToLower(strings.Join(managers, "\n"))
	if !isBy(f.who, by) {
		return false
	}
	text := strings.ToLower(s.resource.Resource + " " + r.Entry.Cluster + " " + r.Entry.Namespace + " " + r.Entry.Name + " " + strings.Join(r.cells, " ") + " " + r.why())
	contained := func(word string) bool { return strings.Contains(text, word) }
	return !slices.ContainsFunc(f.words, func(word string) bool { return !contained(word) && !strings.Contains(by, word) }) && !slices.ContainsFunc(f.without, contained)
}
