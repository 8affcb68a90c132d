package output

import (
	"cmp"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/cli-runtime/pkg/printers"

	"dwatch/watcher/event"
)

// grid holds the lines of a batch until all are known, so that columns are as wide as they need.
type grid struct{ lines []gridLine }

type gridLine struct {
	*layout
	cells []string
	paint painted
}

// painted is a cell in a colour. The zero value is none.
type painted struct {
	cell int    // 0: none is, as the first says what happened
	sgr  string // the colour
	only int    // so many bytes of it, its first; 0: all
}

// layout says how wide the columns of some lines are: once wider, they stay so.
type layout struct{ widths []int }

const (
	minWidth = 6 // kubectl's, as is gap
	gap      = 3
	// step: a column grows by more than it has to, so that it grows seldom.
	step = 4
)

// newLayout begins with columns for what happened, and when.
func newLayout() *layout {
	return &layout{widths: []int{len("MODIFIED") + gap + 1, len("15:04:05") + gap + 1}}
}

// add adds a line. Its last cell may be of any width.
func (g *grid) add(l *layout, cells ...string) {
	for i, cell := range cells[:len(cells)-1] {
		if i == len(l.widths) {
			l.widths = append(l.widths, minWidth)
		}
		if needed := displaywidth.String(cell) + gap; needed > l.widths[i] {
			l.widths[i] = (needed + needed/step + step - 1) / step * step
		}
	}
	g.lines = append(g.lines, gridLine{layout: l, cells: cells})
}

// event adds what happened, when, and cells, which stay on one line.
func (g *grid) event(l *layout, e event.Event, when string, cells ...string) {
	for i, cell := range cells {
		cells[i] = EscapeLine(cell)
	}
	g.add(l, append([]string{string(e.Type), when}, cells...)...)
}

// paint gives a colour to a cell of the line that was added last, by its place behind what happened, and when.
func (g *grid) paint(cell int, sgr string) {
	g.lines[len(g.lines)-1].paint = painted{cell: 2 + cell, sgr: sgr}
}

// flush appends the lines, and forgets them.
func (g *grid) flush(dst []byte) []byte {
	for _, line := range g.lines {
		dst = append(appendCells(dst, line.cells, line.widths, line.paint), '\n')
	}
	clear(g.lines)
	g.lines = g.lines[:0]
	return dst
}

// appendCells appends cells, each but the last as wide as its column.
func appendCells(dst []byte, cells []string, widths []int, paint painted) []byte {
	for i, cell := range cells {
		if i > 0 && i == paint.cell {
			only := cmp.Or(paint.only, len(cell))
			dst = append(dst, "\x1b["+paint.sgr+"m"+cell[:only]+"\x1b[0m"+cell[only:]...)
		} else {
			dst = append(dst, cell...)
		}
		for n := displaywidth.String(cell); i < len(cells)-1 && n < widths[i]; n++ {
			dst = append(dst, ' ')
		}
	}
	return dst
}

// Colored is what a cell of a line, which is not its first, begins with, and the SGR of its colour. The zero value: nothing.
type CellColor struct {
	Cell      int
	Text, SGR string
}

// Columns returns lines, whose cells stay on them, with columns as wide as they need. colored has a colour for each
// line; nil: there are none.
func AlignColumns(lines [][]string, colored []CellColor) (aligned []string) {
	var widths []int
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			cells[i] = EscapeLine(cell)
			widths[i] = max(widths[i], displaywidth.String(cells[i])+gap)
		}
	}
	for i, cells := range lines {
		var paint painted
		if colored != nil {
			paint = painted{colored[i].Cell, colored[i].SGR, len(EscapeLine(colored[i].Text))}
		}
		aligned = append(aligned, strings.TrimRight(string(appendCells(nil, cells, widths, paint)), " "))
	}
	return aligned
}

// align writes lines as kubectl does, for which tabs and newlines in cells are cells and lines.
func align(w io.Writer, lines [][]string) error {
	tabs := printers.GetNewTabWriter(w)
	for _, cells := range lines {
		if _, err := io.WriteString(tabs, strings.Join(cells, "\t")+"\n"); err != nil {
			return err
		}
	}
	return tabs.Flush()
}
