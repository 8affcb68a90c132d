package live

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"dwatch/output"
)

// press does what a key stands for.
func (m *model) press(key tea.KeyPressMsg) tea.Cmd {
	pressed := key.String()
	if letter, is := strings.CutPrefix(pressed, "alt+"); is && len(letter) == 1 {
		// What a terminal sends for Escape and a letter soon after.
		return tea.Batch(m.press(tea.KeyPressMsg{Code: tea.KeyEscape}), m.press(tea.KeyPressMsg{Code: key.Code, Text: letter}))
	}
	switch {
	case pressed == "ctrl+c":
		return tea.Quit
	case pressed == "ctrl+z":
		return m.suspend()
	case m.typed != nil:
		return m.typeKey(key)
	case m.pager != nil:
		return m.pressInPager(pressed)
	default:
		return m.pressInTable(pressed)
	}
}

func (m *model) pressInTable(key string) tea.Cmd {
	if m.moveBy(key) {
		return nil
	}
	switch key {
	case "q":
		return tea.Quit
	case "/":
		m.beginFilter()
	case "esc":
		return m.leaveFilter()
	case "s":
		m.sort()
	case "p":
		m.pause()
	case "?":
		m.pager = m.help()
	case "l":
		m.pager = m.log()
	default:
		return m.pressOnRow(key)
	}
	return nil
}

// pressOnRow does what is about the selected row.
func (m *model) pressOnRow(key string) tea.Cmd {
	s, r := m.selected()
	if r == nil {
		return nil
	}
	return m.pressAbout(key, s, r)
}

// pressAbout does what is about a row.
func (m *model) pressAbout(key string, s *section, r *row) tea.Cmd {
	switch key {
	case "enter":
		m.pager = m.changes(s, r)
	case "d":
		m.pager = m.yaml(s, r)
	case "e":
		return m.askEvents(s, r)
	case "y":
		m.say("copied " + output.Line(r.name) + ", if the terminal allows that (OSC 52)")
		return tea.SetClipboard(r.name)
	}
	return nil
}

// sort takes the next order.
func (m *model) sort() {
	next := (m.shownTable().order + 1) % orders
	for _, t := range m.tables() {
		t.order = next
		t.arrange()
	}
	m.say("sorted: " + orderNames[next])
}

// tables are the present one, and the one that is shown while it is paused.
func (m *model) tables() []*table {
	if m.frozen != nil {
		return []*table{m.table, m.frozen}
	}
	return []*table{m.table}
}

// pause holds the table as it is, or lets it go on.
func (m *model) pause() {
	if m.frozen != nil {
		m.frozen = nil
		return
	}
	m.frozen, m.frozenAt, m.frozenEvents = m.table.clone(), m.now(), m.events
}

// asked is the filter that the user wants.
func (m *model) asked() filter {
	if m.search != nil {
		return m.search.filter
	}
	return m.shownTable().filter
}

func (m *model) beginFilter() {
	m.before = m.asked()
	typed := m.before.typed
	m.typed = &typed
}

// typeKey changes the filter that is being typed.
func (m *model) typeKey(key tea.KeyPressMsg) tea.Cmd {
	typed := *m.typed
	switch pressed := key.String(); {
	case pressed == "enter":
		return m.endFilter()
	case pressed == "esc":
		m.typed = nil
		return m.setFilter(m.before)
	case pressed == "ctrl+u":
		return m.typeFilter("")
	case pressed == "backspace" && typed == "":
		m.typed = nil
		return m.setFilter(filter{})
	case pressed == "backspace":
		runes := []rune(typed)
		return m.typeFilter(string(runes[:len(runes)-1]))
	case key.Text != "":
		return m.typeFilter(typed + key.Text)
	}
	return nil
}

// typeFilter shows at once what words stand for; an expression waits for its end, and so
// long the rows are those from before.
func (m *model) typeFilter(typed string) tea.Cmd {
	typed = output.Line(typed)
	m.typed = &typed
	if _, is := isCondition(typed); is || beginsCondition(typed) {
		return m.setFilter(m.before)
	}
	return m.setFilter(parseText(typed))
}

// endFilter takes what was typed.
func (m *model) endFilter() tea.Cmd {
	typed := *m.typed
	text, is := isCondition(typed)
	if !is || m.Condition == nil {
		m.typed = nil
		return m.setFilter(parseText(typed))
	}
	holds, err := m.Condition(text)
	if err != nil {
		m.say(output.Line(err.Error()))
		return nil
	}
	m.typed = nil
	return m.setFilter(filter{typed: typed, holds: holds})
}

// leaveFilter ends a search, and where none is, shows all.
func (m *model) leaveFilter() tea.Cmd {
	if m.search != nil {
		m.search = nil
		return nil
	}
	return m.setFilter(filter{})
}

// setFilter takes a filter, if it is another one.
func (m *model) setFilter(f filter) tea.Cmd {
	if f.typed == m.asked().typed {
		return nil
	}
	m.search = nil
	if f.holds != nil {
		return m.beginSearch(f)
	}
	for _, t := range m.tables() {
		t.choose(f, nil)
	}
	return nil
}
