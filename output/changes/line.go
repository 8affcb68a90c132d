package changes

import (
	"bufio"
	"cmp"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"dwatch/output"
	"dwatch/watcher/event"
)

const ellipsis = "…"

// subject is the object that a line is about. The cluster is coloured, and empty unless there are several.
type subject struct{ before, cluster, after string }

func (s subject) String() string { return s.before + s.cluster + s.after }

// lineWriter writes lines that fit the terminal.
type lineWriter struct {
	w              *bufio.Writer
	columns        func() int // Options.Width
	width          int        // of the current call
	color          bool
	fullTimestamps bool
	noTruncate     bool
	palette        output.Palette // for the names of clusters
}

func newLineWriter(w io.Writer, o Options) *lineWriter {
	l := &lineWriter{w: bufio.NewWriterSize(w, 64<<10), columns: o.Width, color: o.Color, fullTimestamps: o.FullTimestamps, noTruncate: o.NoTruncate}
	if o.Clusters != nil {
		l.palette = output.NewPalette(event.ClusterNames(o.Clusters())...)
	}
	return l
}

// measure reads the current width of the terminal. It must be called before lines are written.
func (o *lineWriter) measure() {
	o.width = endless
	if o.columns != nil {
		o.width = cmp.Or(o.columns(), endless)
	}
}

// line writes a line with time, sign, subject and text. who, the author of the change, is at the right margin.
func (o *lineWriter) line(t time.Time, sign rune, subject subject, text, who string) {
	left := o.clock(t) + " " + string(sign) + " " + subject.String()
	if text != "" {
		left += "  " + text
	}
	line, who := o.fit(left, who)
	o.write(o.paint(line, sign, len(o.clock(t))+1, subject), who)
}

// wrapped writes a line, and wraps the text onto more lines if necessary.
func (o *lineWriter) wrapped(t time.Time, sign rune, subject subject, text, who string) {
	if displaywidth.String(subject.String()+"  "+text) <= o.room("") {
		o.line(t, sign, subject, text, who)
		return
	}
	o.line(t, sign, subject, "", who)
	for _, line := range wrap(text, o.room("")) {
		o.detail(line, "")
	}
}

// detail writes an indented line.
func (o *lineWriter) detail(text, who string) {
	o.write(o.fit(strings.Repeat(" ", o.indent())+text, who))
}

// fit cuts a line to the width of the terminal or, if who fits on the same line, pads the line and returns who.
func (o *lineWriter) fit(line, who string) (string, string) {
	width := displaywidth.String(line)
	switch {
	case width > o.width:
		return cutEnd(line, o.width), ""
	case who == "":
		return line, ""
	case o.width == endless:
		return line + "  ", who
	case width+2+displaywidth.String(who) > o.width:
		return line, ""
	}
	return line + strings.Repeat(" ", o.width-width-displaywidth.String(who)), who
}

func (o *lineWriter) write(line, who string) {
	if who != "" {
		line += o.faint(who)
	}
	o.w.WriteString(line)
	o.w.WriteByte('\n')
}

// clock returns the time at the start of a line.
func (o *lineWriter) clock(t time.Time) string { return output.FormatClock(t, o.fullTimestamps) }

func (o *lineWriter) indent() int { return len(o.clock(time.Time{})) + len(" ~ ") }

// room returns the number of columns for a detail that shares its line with the author of the change.
func (o *lineWriter) room(who string) int {
	room := o.width - o.indent()
	if who != "" {
		room -= 2 + displaywidth.String(who)
	}
	return max(room, 8)
}

// colors are the ANSI colours of the signs.
var colors = map[rune]string{'+': "32", '-': "31", '~': "33", '=': "36", '!': "35", '<': "34", '>': "33", '✗': "31", '◌': "33", '●': "32"}

// paint colours the sign, which is at byte at of the line, and the name of the cluster, unless that was cut.
func (o *lineWriter) paint(line string, sign rune, at int, subject subject) string {
	if !o.color {
		return line
	}
	behind := at + utf8.RuneLen(sign)
	rest := line[behind:]
	before := " " + subject.before
	if after, is := strings.CutPrefix(rest, before+subject.cluster); is && subject.cluster != "" {
		rest = before + o.palette.Paint(subject.cluster, subject.cluster) + after
	}
	return "\x1b[2m" + line[:at] + "\x1b[0m\x1b[1;" + colors[sign] + "m" + line[at:behind] + "\x1b[0m" + rest
}

func (o *lineWriter) faint(text string) string {
	if !o.color {
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
