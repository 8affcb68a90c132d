package live

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/output"
	"dwatch/output/inventory"
)

// filterInput is the input line of the filter, and the search for the rows that match an expression.
type filterInput struct {
	*canvas
	view    *view
	typed   *string // nil unless the user is typing
	before  filter  // active before the user began to type
	search  *search // for the next filter; nil if no search is running
	percent int     // progress of the search
}

func (f *filterInput) requested() filter {
	if f.search != nil {
		return f.search.filter
	}
	return f.view.shown().filter
}

func (f *filterInput) begin() {
	f.before = f.requested()
	typed := f.before.typed
	f.typed = &typed
}

// press handles a key while the user types. It returns an error if an expression is invalid.
func (f *filterInput) press(key tea.KeyPressMsg) (tea.Cmd, error) {
	typed := *f.typed
	switch pressed := key.String(); {
	case pressed == "enter":
		return f.end()
	case pressed == "esc":
		f.typed = nil
		return f.set(f.before), nil
	case pressed == "backspace" && typed == "":
		f.typed = nil
		return f.set(filter{}), nil
	case pressed == "backspace":
		runes := []rune(typed)
		return f.edit(string(runes[:len(runes)-1])), nil
	case pressed == "ctrl+u":
		return f.edit(""), nil
	case key.Text != "":
		return f.edit(typed + key.Text), nil
	}
	return nil, nil
}

// edit applies the typed text at once, unless it is an expression: then the rows stay until Enter.
func (f *filterInput) edit(typed string) tea.Cmd {
	typed = output.EscapeLine(typed)
	f.typed = &typed
	if isUnfinished(typed) {
		return f.set(f.before)
	}
	return f.set(parseText(typed))
}

func (f *filterInput) end() (tea.Cmd, error) {
	next := parseText(*f.typed)
	if text, is := isCondition(*f.typed); is {
		holds, err := f.view.CompileCondition(text)
		if err != nil {
			return nil, err
		}
		next = filter{typed: *f.typed, condition: func(s *inventory.State) bool { return holds(s.Entry.Cluster, s.Object) }}
	}
	f.typed = nil
	return f.set(next), nil
}

// cancel ends a running search, or else removes the filter.
func (f *filterInput) cancel() {
	if f.search == nil {
		f.set(filter{})
	}
	f.search = nil
}

// set activates another filter. A filter with an expression becomes active at the end of the search.
func (f *filterInput) set(next filter) tea.Cmd {
	if next.typed == f.requested().typed {
		return nil
	}
	f.search = nil
	if next.condition != nil {
		f.search = &search{filter: next, found: map[*inventory.State]bool{}}
		return f.continueSearch(f.search)
	}
	f.choose(next, nil)
	return nil
}

// continueSearch continues the search s if it is the current one. When all rows have been evaluated, including those
// that changed in the meantime, it activates the filter.
func (f *filterInput) continueSearch(s *search) tea.Cmd {
	if f.search != s {
		return nil
	}
	if len(s.todo) == 0 {
		s.todo = f.unknown(s)
		s.run(synchronousTime)
	}
	if left := len(s.todo); left > 0 {
		f.percent = 100 * len(s.found) / (len(s.found) + left)
		return s.runStep
	}
	f.search = nil
	f.choose(s.filter, s.found)
	return nil
}

func (f *filterInput) choose(next filter, found map[*inventory.State]bool) {
	for _, t := range f.view.tables() {
		t.choose(next, found)
	}
}

// unknown returns the states of all rows that s has not evaluated.
func (f *filterInput) unknown(s *search) (unknown []*inventory.State) {
	for _, t := range f.view.tables() {
		for _, section := range t.sections {
			for _, r := range section.rows {
				if _, is := s.found[r.State]; !is {
					unknown = append(unknown, r.State)
				}
			}
		}
	}
	return unknown
}

// prompt returns the typed filter, or its end if it is too long, with room for the caret.
func (f *filterInput) prompt() string {
	text, room := *f.typed, max(f.width-len(" /")-1, 1)
	if over := f.StringWidth(text) - room; over > 0 {
		text = f.TruncateLeft(text, over+f.StringWidth(ellipsis), ellipsis)
	}
	return f.Truncate(" /"+text, f.width, "")
}

func (f *filterInput) caret() *tea.Cursor {
	if f.typed == nil {
		return nil
	}
	return tea.NewCursor(min(f.StringWidth(f.prompt()), max(f.width-1, 0)), f.height-1)
}

// describe returns the active filter, or the progress of the search.
func (f *filterInput) describe() string {
	switch now := f.view.shown().filter.typed; {
	case f.search != nil:
		return f.paint(alarm, fmt.Sprintf(" searching, %d %%", f.percent)) + f.paint(bold, " /"+f.search.filter.typed) + f.paint(faint, " esc stops ")
	case now != "":
		return f.paint(bold, " /"+now) + f.paint(faint, " esc clears ")
	}
	return ""
}

const (
	// synchronousTime is how long a key press may search. Longer searches continue in the background, in steps of
	// searchStep.
	synchronousTime = 10 * time.Millisecond
	searchStep      = 100 * time.Millisecond
)

// search evaluates an expression for all objects, which takes a second for 10,000. Until it ends, the previous filter
// stays active. It is also the message that reports a completed step.
type search struct {
	filter filter
	found  map[*inventory.State]bool // results by state
	todo   []*inventory.State        // states to evaluate
}

// run continues the search for about the duration d.
func (s *search) run(d time.Duration) {
	end := time.Now().Add(d)
	for len(s.todo) > 0 && time.Now().Before(end) {
		state := s.todo[0]
		s.todo = s.todo[1:]
		s.found[state] = s.filter.condition(state)
	}
}

// runStep continues the search for one step in a goroutine of its own. The model does not use s until it returns.
func (s *search) runStep() tea.Msg {
	s.run(searchStep)
	return s
}
