package live

import (
	"fmt"
	"time"

	"dwatch/output"
)

// pager shows a scrollable text.
type pager struct {
	*canvas
	title string
	// text returns the lines for a width. It is called again when the width or the result of version changes.
	text    func(width int) []string
	version func() any

	lines        []string
	shownVersion any
	shownWidth   int
	first        int // first visible line
	left         int // columns that are scrolled out at the left
	follows      bool
	// section and row are the subject of the keys for objects, or nil.
	section *section
	row     *row
	back    *pager // previous pager; nil means the table
}

// heading returns the title, and states whether the object was deleted or replaced by one of the same name.
func (p *pager) heading(now time.Time) string {
	switch {
	case p.row == nil || !p.row.deleted:
		return p.title
	case p.present() != p.row:
		return "before it was recreated: " + p.title
	}
	return "deleted " + output.FormatAge(now, p.row.at) + " ago: " + p.title
}

// present returns the current row of the object. It differs from p.row if the object was created again after its row was
// removed.
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
	if width := p.width - 2; p.lines == nil || p.shownVersion != version || p.shownWidth != width {
		p.lines, p.shownVersion, p.shownWidth = p.text(width), version, width
	}
}

// scroll scrolls by some lines. At the end, the pager follows new lines.
func (p *pager) scroll(by int) {
	p.update()
	last := max(len(p.lines)-p.body(), 0)
	p.first = min(max(p.first+by, 0), last)
	p.follows = p.first == last && p.version != nil
}

func (p *pager) visibleLines() []string {
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

// keys returns the last line of the frame while the pager is shown.
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
