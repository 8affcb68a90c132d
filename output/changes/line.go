package changes

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"dwatch/output"
)

const ellipsis = "…"

// subject is the object that a line is about. The cluster is coloured, and empty unless there are several.
type subject struct{ before, cluster, after string }

func (s subject) String() string { return s.before + s.cluster + s.after }

// line writes a line with time, sign, subject and text. who, the author of the change, is at the right margin.
func (v *View) line(t time.Time, sign rune, subject subject, text, who string) {
	left := v.clock(t) + " " + string(sign) + " " + subject.String()
	if text != "" {
		left += "  " + text
	}
	line, who := v.fit(left, who)
	v.write(v.paint(line, sign, len(v.clock(t))+1, subject), who)
}

// wrapped writes a line, and wraps the text onto more lines if necessary.
func (v *View) wrapped(t time.Time, sign rune, subject subject, text, who string) {
	if displaywidth.String(subject.String()+"  "+text) <= v.room("") {
		v.line(t, sign, subject, text, who)
		return
	}
	v.line(t, sign, subject, "", who)
	for _, line := range wrap(text, v.room("")) {
		v.detail(line, "")
	}
}

// detail writes an indented line.
func (v *View) detail(text, who string) {
	v.write(v.fit(strings.Repeat(" ", v.indent())+text, who))
}

// fit cuts a line to the width of the terminal or, if who fits on the same line, pads the line and returns who.
func (v *View) fit(line, who string) (string, string) {
	width := displaywidth.String(line)
	switch {
	case width > v.width:
		return cutEnd(line, v.width), ""
	case who == "":
		return line, ""
	case v.width == endless:
		return line + "  ", who
	case width+2+displaywidth.String(who) > v.width:
		return line, ""
	}
	return line + strings.Repeat(" ", v.width-width-displaywidth.String(who)), who
}

func (v *View) write(line, who string) {
	if who != "" {
		line += v.faint(who)
	}
	v.w.WriteString(line)
	v.w.WriteByte('\n')
}

// clock returns the time at the start of a line.
func (v *View) clock(t time.Time) string { return output.FormatClock(t, v.FullTimestamps) }

func (v *View) indent() int { return len(v.clock(time.Time{})) + len(" ~ ") }

// room returns the number of columns for a detail that shares its line with the author of the change.
func (v *View) room(who string) int {
	room := v.width - v.indent()
	if who != "" {
		room -= 2 + displaywidth.String(who)
	}
	return max(room, 8)
}

// colors are the ANSI colours of the signs.
var colors = map[rune]string{'+': "32", '-': "31", '~': "33", '=': "36", '!': "35", '<': "34", '>': "33", '✗': "31", '◌': "33", '●': "32"}

// paint colours the sign, which is at byte at of the line, and the name of the cluster, unless that was cut.
func (v *View) paint(line string, sign rune, at int, subject subject) string {
	if !v.Color {
		return line
	}
	behind := at + utf8.RuneLen(sign)
	rest := line[behind:]
	before := " " + subject.before
	if after, is := strings.CutPrefix(rest, before+subject.cluster); is && subject.cluster != "" {
		rest = before + v.palette.Paint(subject.cluster, subject.cluster) + after
	}
	return "\x1b[2m" + line[:at] + "\x1b[0m\x1b[1;" + colors[sign] + "m" + line[at:behind] + "\x1b[0m" + rest
}

func (v *View) faint(text string) string {
	if !v.Color {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}

func cutEnd(text string, width int) string {
	return displaywidth.TruncateString(text, width, ellipsis)
}

// cutFront shortens a path at its start. It cuts in front of a field or list item if one is near.
func cutFront(path string, width int) string {
	if displaywidth.String(path) <= width {
		return path
	}
	rest := path
	for displaywidth.String(rest) >= width {
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
	}
	switch i := strings.IndexAny(rest, ".["); {
	case i < 0 || i >= leastPath/2 || path[len(path)-len(rest)-1] == '.':
	case rest[i] == '.':
		rest = rest[i+1:]
	default: // keeps the key of the item
		rest = rest[i:]
	}
	return ellipsis + rest
}

// wrap breaks text at spaces. It does not break at hyphens, which are part of names.
func wrap(text string, width int) (lines []string) {
	for width > 0 && displaywidth.String(text) > width {
		head := displaywidth.TruncateString(text, width, "")
		rest := text[len(head):]
		if i := strings.LastIndexByte(head, ' '); rest[0] != ' ' && i > len(head)/2 {
			head, rest = head[:i], text[i:]
		}
		if head == "" { // one character is wider
			break
		}
		lines = append(lines, head)
		text = strings.TrimPrefix(rest, " ")
	}
	return append(lines, text)
}
