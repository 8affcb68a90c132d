package live

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// pager shows a text that may be longer than the screen.
type pager struct {
	title string
	// text returns its lines for a width. It is called again when version returns
	// something else than before, or the width is another one.
	text    func(width int) []string
	version func() any

	lines   []string
	made    any
	width   int
	first   int // line that is shown
	left    int // columns that are scrolled out
	follows bool
	// row says that the keys for a row work, and on which.
	section *section
	row     *row
	// back is what was shown before; nil: the table.
	back *pager
}

// pagerLines is how many lines of it are seen.
func (m *model) pagerLines() int { return m.body() }

// pagerTitle says what is shown, and whether that is still there.
func (m *model) pagerTitle() string {
	p := m.pager
	switch {
	case p.row == nil || !p.row.gone:
		return p.title
	case p.present() != p.row:
		return "before it came back: " + p.title
	}
	return "deleted " + ago(m.clock(), p.row.at) + " ago: " + p.title
}

// present is the row of the object as it is now: another one if it came back after its
// row was forgotten.
func (p *pager) present() *row {
	if r := p.section.rows[object{p.row.namespace, p.row.name}]; r != nil {
		return r
	}
	return p.row
}

// update makes the lines, if they are not as they should be.
func (p *pager) update(width int) {
	var version any
	if p.version != nil {
		version = p.version()
	}
	if p.lines == nil || p.made != version || p.width != width {
		p.lines, p.made, p.width = p.text(width), version, width
	}
}

// scroll goes on by some lines. It follows the end once it is there.
func (p *pager) scroll(by, height int) {
	last := max(len(p.lines)-height, 0)
	p.first = min(max(p.first+by, 0), last)
	p.follows = p.first == last && p.version != nil
}

func (m *model) pagerBody() []string {
	p, height := m.pager, m.pagerLines()
	p.update(m.width - 2)
	last := max(len(p.lines)-height, 0)
	if p.first = min(p.first, last); p.follows {
		p.first = last
	}
	body := make([]string, 0, height)
	for _, line := range p.lines[p.first:min(p.first+height, len(p.lines))] {
		if p.left > 0 {
			line = m.TruncateLeft(line, p.left, "")
		}
		body = append(body, " "+m.Truncate(line, m.width-2, ellipsis))
	}
	return body
}

// pagerKeys is the last line while a text is shown.
func (m *model) pagerKeys() string {
	p := m.pager
	p.update(m.width - 2)
	var keys []string
	if p.row != nil {
		keys = append(keys, "↵ changes", "d yaml", "e events", "y copy")
	}
	where := ""
	if end := min(p.first+m.pagerLines(), len(p.lines)); len(p.lines) > m.pagerLines() {
		where = fmt.Sprintf("%d-%d of %d ", p.first+1, end, len(p.lines))
	}
	keys = append(keys, "↑↓←→ scroll", "esc back")
	return m.sides(m.keyLine(keys, m.width-len(where)-gap), m.width, m.paint(faint, where))
}

func (m *model) pressInPager(key string) tea.Cmd {
	p, height := m.pager, m.pagerLines()
	const sideways = 8
	switch key {
	case "esc", "q", "backspace":
		m.pager = p.back
	case "up", "k":
		p.scroll(-1, height)
	case "down", "j":
		p.scroll(1, height)
	case "pgup", "ctrl+b":
		p.scroll(1-height, height)
	case "pgdown", "ctrl+f", "space":
		p.scroll(height-1, height)
	case "home", "g":
		p.scroll(-len(p.lines), height)
	case "end", "G":
		p.scroll(len(p.lines), height)
	case "left", "h":
		p.left = max(p.left-sideways, 0)
	case "right":
		p.left += sideways
	case "?":
		if p.title != helpTitle {
			m.pager = m.help()
			m.pager.back = p
		}
	case "enter", "d", "e", "y":
		if p.row != nil {
			return m.pressAbout(key, p.section, p.present())
		}
	}
	return nil
}

// wrapped breaks a text into lines of a width.
func (m *model) wrapped(text string, width int) []string {
	return strings.Split(m.Wrap(text, max(width, 10), ""), "\n")
}
