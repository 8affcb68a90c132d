package live

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"dwatch/output"
	"dwatch/output/inventory"
)

// finder is the filter that the user asks for: how it is typed, and the search for what it shows.
type finder struct {
	*canvas
	view   *view
	typed  *string // the filter that is being typed; nil: none is
	before filter  // that was in force before
	search *search // for the rows of the next filter; nil: it is in force
	part   int     // of the search that is done, in percent
}

func (f *finder) asked() filter {
	if f.search != nil {
		return f.search.filter
	}
	return f.view.shown().filter
}

func (f *finder) begin() {
	f.before = f.asked()
	typed := f.before.typed
	f.typed = &typed
}

// press changes what is being typed. The error is what is wrong with an expression.
func (f *finder) press(key tea.KeyPressMsg) (tea.Cmd, error) {
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
		return f.take(string(runes[:len(runes)-1])), nil
	case pressed == "ctrl+u":
		return f.take(""), nil
	case key.Text != "":
		return f.take(typed + key.Text), nil
	}
	return nil, nil
}

// take shows at once what words stand for. With an expression the rows stay as they were before.
func (f *finder) take(typed string) tea.Cmd {
	typed = output.EscapeLine(typed)
	f.typed = &typed
	if isUnfinished(typed) {
		return f.set(f.before)
	}
	return f.set(parseText(typed))
}

func (f *finder) end() (tea.Cmd, error) {
	next := parseText(*f.typed)
	if text, is := isCondition(*f.typed); is {
		holds, err := f.view.CompileCondition(text)
		if err != nil {
			return nil, err
		}
		next = filter{typed: *f.typed, holds: func(s *inventory.State) bool { return holds(s.Entry.Cluster, s.Object) }}
	}
	f.typed = nil
	return f.set(next), nil
}

// leave ends a search, and where none is, shows all.
func (f *finder) leave() {
	if f.search == nil {
		f.set(filter{})
	}
	f.search = nil
}

// set takes another filter at once, or when it is known of which objects its expression holds.
func (f *finder) set(next filter) tea.Cmd {
	if next.typed == f.asked().typed {
		return nil
	}
	f.search = nil
	if next.holds != nil {
		f.search = &search{filter: next, found: map[*inventory.State]bool{}}
		return f.goOn(f.search)
	}
	f.choose(next, nil)
	return nil
}

// goOn has the present search go on, first with what has changed, or shows what it has found.
func (f *finder) goOn(s *search) tea.Cmd {
	if f.search != s {
		return nil
	}
	if len(s.todo) == 0 {
		s.todo = f.unknown(s)
		s.look(atOnce)
	}
	if left := len(s.todo); left > 0 {
		f.part = 100 * len(s.found) / (len(s.found) + left)
		return s.lookOn
	}
	f.search = nil
	f.choose(s.filter, s.found)
	return nil
}

func (f *finder) choose(next filter, found map[*inventory.State]bool) {
	for _, t := range f.view.tables() {
		t.choose(next, found)
	}
}

func (f *finder) unknown(s *search) (unknown []*inventory.State) {
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

// prompt is the filter that is being typed; if it is too long, its end, with room for the caret.
func (f *finder) prompt() string {
	text, room := *f.typed, max(f.width-len(" /")-1, 1)
	if over := f.StringWidth(text) - room; over > 0 {
		text = f.TruncateLeft(text, over+f.StringWidth(ellipsis), ellipsis)
	}
	return f.Truncate(" /"+text, f.width, "")
}

func (f *finder) caret() *tea.Cursor {
	if f.typed == nil {
		return nil
	}
	return tea.NewCursor(min(f.StringWidth(f.prompt()), max(f.width-1, 0)), f.height-1)
}

// inForce says which filter there is, or is looked for.
func (f *finder) inForce() string {
	switch now := f.view.shown().filter.typed; {
	case f.search != nil:
		return f.paint(alarm, fmt.Sprintf(" looking, %d %%", f.part)) + f.paint(bold, " /"+f.search.filter.typed) + f.paint(faint, " esc stops ")
	case now != "":
		return f.paint(bold, " /"+now) + f.paint(faint, " esc clears ")
	}
	return ""
}

const (
	// atOnce is how long a key waits for a search; it goes on aside, and reports each searchStep.
	atOnce     = 10 * time.Millisecond
	searchStep = 100 * time.Millisecond
)

// search finds out of which objects an expression holds, which takes a second for 10,000: the rows
// are those from before until then. As a message it says that it has come further.
type search struct {
	filter filter
	found  map[*inventory.State]bool // whether it holds of what was looked at
	todo   []*inventory.State        // what is left of the start
}

// look goes on with a search for about that long.
func (s *search) look(d time.Duration) {
	end := time.Now().Add(d)
	for len(s.todo) > 0 && time.Now().Before(end) {
		state := s.todo[0]
		s.todo = s.todo[1:]
		s.found[state] = s.filter.holds(state)
	}
}

// lookOn goes on with a search beside the screen, which does not look at it meanwhile.
func (s *search) lookOn() tea.Msg {
	s.look(searchStep)
	return s
}
