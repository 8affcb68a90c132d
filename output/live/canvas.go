package live

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// canvas has the properties of the terminal that drawing needs: size, colors, the width of text, and the clock.
type canvas struct {
	ansi.Method
	color         bool
	width, height int
	between       int // lines between the status line and the body, if the screen is high enough
	now           func() time.Time
}

const (
	roomyHeight = 16 // minimum height for optional lines
	linesBelow  = 2  // lines below the body
	gap         = 2  // spaces between two columns, or two texts on a line
)

// above returns the number of lines above the body.
func (c *canvas) above() int {
	if c.height >= roomyHeight {
		return 1 + c.between
	}
	return 1
}

// body returns the number of lines for the table or the text.
func (c *canvas) body() int { return max(c.height-c.above()-linesBelow, 1) }

// style has the ANSI codes of a text style with and without color. The theme of the terminal defines the colors.
type style struct{ color, plain string }

var (
	normal   = style{}
	bold     = style{"1", "1"}
	faint    = style{"2", "2"}
	selected = style{"7", "7"}
	heading  = style{"1;34", "1"}
	hot      = style{"1;36", "1;4"} // just changed
	warm     = style{"36", "4"}     // changed some seconds ago
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

// fit cuts or pads text at its end to the given width.
func (c *canvas) fit(text string, width int) string {
	have := c.StringWidth(text)
	if have > width {
		text = c.Truncate(text, width, ellipsis)
		have = c.StringWidth(text)
	}
	return text + strings.Repeat(" ", max(width-have, 0))
}

// middle cuts text in the middle to at most the given width, because names often differ at their ends.
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

// sides puts one text at the left and another at the right: the first of rights that leaves enough room for the left one.
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

// alwaysShown is the number of keys at the end of a list that have priority: help and quit.
const alwaysShown = 2

// keyLine returns keys with their meaning, as many as there is room for.
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
