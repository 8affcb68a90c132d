package live

import (
	"fmt"
	"time"

	"dwatch/output"
)

// pager shows a text that may be longer than the screen.
type pager struct {
	*canvas
	title string
	// text returns its lines for a width. It is called again when that or version has changed.
	text    func(width int) []string
	version func() any

	lines   []string
	made    any
	madeFor int
	first   int // line that is shown
	left    int // columns that are scrolled out
	follows bool
	// row says that the keys for a row work, and on which.
	section *section
	row     *row
	back    *pager // what was shown before; nil: the table
}

// heading says what is shown, and whether that is still there.
func (p *pager) heading(now time.Time) string {
	switch {
	case p.row == nil || !p.row.gone:
		return p.title
	case p.present() != p.row:
		return "before it came back: " + p.title
	}
	return "deleted " + output.FormatAge(now, p.row.at) + " ago: " + p.title
}

// present is the row of the object now, which may have come back after its row was forgotten.
func (p *pager) present() *row {
	if r := p.section.rows[p.row.name()]; r != nil {
		return r
	}
	return p.row
}

func (p *pager) update() {
	var version any
	if p.version != nil {
		version = p.version()
	}
	if width := p.width - 2; p.lines == nil || p.made != version || p.madeFor != width {
		p.lines, p.made, p.madeFor = p.text(width), version, width
	}
}

// scroll goes on by some lines. It follows the end once it is there.
func (p *pager) scroll(by int) {
	p.update()
	last := max(len(p.lines)-p.body(), 0)
	p.first = min(max(p.first+by, 0), last)
	p.follows = p.first == last && p.version != nil
}

func (p *pager) seen() []string {
	p.update()
	last := max(len(p.lines)-p.body(), 0)
	if p.first = min(p.first, last); p.follows {
		p.first = last
	}
	var seen []string
	for _, line := range p.lines[p.first:min(p.first+p.body(), len(p.lines))] {
		if p.left > 0 {
			line = p.TruncateLeft(line, p.left, "")
		}
		seen = append(seen, " "+p.Truncate(line, p.width-2, ellipsis))
	}
	return seen
}

// keys is the last line while a text is shown.
func (p *pager) keys() string {
	var keys []string
	if p.row != nil {
		keys = append(keys, "↵ changes", "d yaml", "e events", "y copy")
	}
	where := ""
	if len(p.lines) > p.body() {
		where = fmt.Sprintf("%d-%d of %d ", p.first+1, min(p.first+p.body(), len(p.lines)), len(p.lines))
	}
	keys = append(keys, "↑↓←→ scroll", "esc back")
	return p.sides(p.keyLine(keys, p.width-len(where)-gap), p.width, p.paint(faint, where))
}

func (p *pager) press(key string) {
	const sideways = 8
	by, moves := moveBy(key, p.body()-1)
	switch {
	case moves:
		p.scroll(by)
	case key == "left", key == "h":
		p.left = max(p.left-sideways, 0)
	case key == "right":
		p.left += sideways
	}
}
