package live

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// canvas is what a frame is drawn on: its size, its colours, how wide text is, and the clock.
type canvas struct {
	ansi.Method
	color         bool
	width, height int
	between       int // lines between the top and the table or text, where there is room
	now           func() time.Time
}

const (
	roomy = 16 // from so many lines on there are some that could be done without
	below = 2  // lines below the table or the text
	gap   = 2  // between two columns, or two texts in a line
)

// above is how many lines there are above the table or the text.
func (c *canvas) above() int {
	if c.height >= roomy {
		return 1 + c.between
	}
	return 1
}

// body is how many lines there are for the table or the text.
func (c *canvas) body() int { return max(c.height-c.above()-below, 1) }

// style is how something looks in colour, by ANSI's numbers for the user's theme, and without.
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

func (c *canvas) paint(s style, text string) string {
	code := s.plain
	if c.color {
		code = s.color
	}
	if code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[m"
}

const ellipsis = "…"

// fit makes text exactly so wide: it is cut at its end, or followed by spaces.
func (c *canvas) fit(text string, width int) string {
	have := c.StringWidth(text)
	if have > width {
		text = c.Truncate(text, width, ellipsis)
		have = c.StringWidth(text)
	}
	return text + strings.Repeat(" ", max(width-have, 0))
}

// middle makes text no wider than that: names differ at their ends as well.
func (c *canvas) middle(text string, width int) string {
	have := c.StringWidth(text)
	if have <= width {
		return text
	}
	if width < 5 {
		return c.Truncate(text, width, ellipsis)
	}
	tail := (width - 1) / 2
	return c.Truncate(text, width-1-tail, "") + ellipsis + c.TruncateLeft(text, have-tail, "")
}

// sides puts one text at the left, and at the right the first of several that leaves it room.
func (c *canvas) sides(left string, width int, rights ...string) string {
	for i, right := range rights {
		room := width - c.StringWidth(right) - gap
		if room >= min(c.StringWidth(left), width/3) || i == len(rights)-1 {
			return c.fit(left, max(room, 0)) + "  " + c.Truncate(right, width, ellipsis)
		}
	}
	return c.fit(left, width)
}

func (c *canvas) wrapped(text string, width int) []string {
	return strings.Split(c.Wrap(text, max(width, 10), ""), "\n")
}

// alwaysShown is how many keys at the end have room first: those for help and for the end.
const alwaysShown = 2

// keyLine shows keys and what they do, as many as have room.
func (c *canvas) keyLine(keys []string, room int) string {
	width := func(key string) int { return c.StringWidth(key) + len("  ") }
	others := len(keys) - alwaysShown
	for _, key := range keys[others:] {
		room -= width(key)
	}
	n := 0
	for n < others && width(keys[n]) <= room {
		room -= width(keys[n])
		n++
	}
	var line strings.Builder
	for _, key := range slices.Concat(keys[:n], keys[others:]) {
		key, what, _ := strings.Cut(key, " ")
		line.WriteString(" " + c.paint(bold, key) + c.paint(faint, " "+what) + " ")
	}
	return line.String()
}
