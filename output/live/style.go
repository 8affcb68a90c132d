package live

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// style is how something looks: in colour, by ANSI's numbers, so that the user's theme
// decides, and without.
type style struct{ color, plain string }

var (
	normal   = style{}
	bold     = style{"1", "1"}
	faint    = style{"2", "2"}
	selected = style{"7", "7"}
	heading  = style{"1;34", "1"}
	hot      = style{"1;36", "1;4"} // has just changed
	warm     = style{"36", "4"}     // changed a while ago
	added    = style{"1;32", "1"}
	deleted  = style{"1;31", "1"}
	altered  = style{"1;36", "1"}
	broken   = style{"1;31", "1"}
	waiting  = style{"33", ""}
	fine     = style{"32", ""}
	alarm    = style{"1;35", "1"}
)

// painter writes with or without colour.
type painter struct{ color bool }

// paint puts a style around a text.
func (p painter) paint(s style, text string) string {
	code := p.code(s)
	if code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[m"
}

// code is what selects a style.
func (p painter) code(s style) string {
	if p.color {
		return s.color
	}
	return s.plain
}

// ellipsis stands for what was cut.
const ellipsis = "…"

// measure is how wide text is on this terminal.
type measure struct{ ansi.Method }

// fit makes text exactly so wide: it is cut at its end, or followed by spaces.
func (m measure) fit(text string, width int) string {
	have := m.StringWidth(text)
	if have > width {
		text = m.Truncate(text, width, ellipsis)
		have = m.StringWidth(text)
	}
	return text + strings.Repeat(" ", max(width-have, 0))
}

// middle makes text no wider than that: names differ at their ends as well.
func (m measure) middle(text string, width int) string {
	have := m.StringWidth(text)
	if have <= width {
		return text
	}
	if width < 5 {
		return m.Truncate(text, width, ellipsis)
	}
	tail := (width - 1) / 2
	return m.Truncate(text, width-1-tail, "") + ellipsis + m.TruncateLeft(text, have-tail, "")
}

// sides puts one text at the left and another at the right of a line. The right one is
// the first of several that leaves the left one some room.
func (m measure) sides(left string, width int, rights ...string) string {
	for i, right := range rights {
		room := width - m.StringWidth(right) - 2
		if room >= min(m.StringWidth(left), width/3) || i == len(rights)-1 {
			return m.fit(left, max(room, 0)) + "  " + m.Truncate(right, width, ellipsis)
		}
	}
	return m.fit(left, width)
}
