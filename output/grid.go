package output

import (
	"cmp"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/cli-runtime/pkg/printers"

	"dwatch/watcher/event"
)

// grid buffers the lines of a batch, so that columns get the width that they need.
type grid struct{ lines []gridLine }

type gridLine struct {
	*layout
	cells []string
	paint painted
}

// painted is the one coloured cell of a line. The zero value means that no cell is coloured.
type painted struct {
	cell int    // its index; 0 means none, because the first cell has the type of the event
	sgr  string // the colour
	only int    // the number of bytes at the start that are coloured; 0 means all
}

// layout has the widths of the columns of related lines. A column never becomes narrower.
type layout struct{ widths []int }

const (
	minWidth = 6 // minWidth and gap are kubectl's
	gap      = 3
	// A column grows by at least a quarter of its width, and to a multiple of step, so that columns rarely grow.
	step = 4
)

// newLayout returns a layout with the columns EVENT and TIME.
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

// event adds a line with the type and the time of an event, and cells, which it escapes.
func (g *grid) event(l *layout, e event.Event, when string, cells ...string) {
	for i, cell := range cells {
		cells[i] = EscapeLine(cell)
	}
	g.add(l, append([]string{string(e.Type), when}, cells...)...)
}

// paint colours a cell of the last line. cell does not count the columns EVENT and TIME.
func (g *grid) paint(cell int, sgr string) {
	g.lines[len(g.lines)-1].paint = painted{cell: 2 + cell, sgr: sgr}
}

// flush appends the lines to dst and removes them from the grid.
func (g *grid) flush(dst []byte) []byte {
	for _, line := range g.lines {
		dst = append(appendCells(dst, line.cells, line.widths, line.paint), '\n')
	}
	clear(g.lines)
	g.lines = g.lines[:0]
	return dst
}

// appendCells appends cells, and pads all but the last to the width of the column.
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

// CellColor colours the text that a cell begins with. Cell is its index, which must not be 0. The zero value colours nothing.
type CellColor struct {
	Cell      int
	Text, SGR string
}

// AlignColumns returns lines with aligned columns. It escapes the cells. colored has an element per line, or is nil.
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

// align writes lines with kubectl's tab writer. As in kubectl, tabs and line feeds in cells begin new cells and lines.
func align(w io.Writer, lines [][]string) error {
	tabs := printers.GetNewTabWriter(w)
	for _, cells := range lines {
		if _, err := io.WriteString(tabs, strings.Join(cells, "\t")+"\n"); err != nil {
			return err
		}
	}
	return tabs.Flush()
}
