package output

import (
	"hash/fnv"
	"slices"
)

// Colors is how many colours a Palette has.
const PaletteSize = 10

// Palette gives names the numbers of colours. A name has the same one in each run, unless another
// name has it already; that two have the same is only where there are more of them than colours.
// The zero value is ready for use, from one goroutine.
type Palette struct {
	of    map[string]int
	taken [PaletteSize]bool
}

// NewPalette returns one in which these names have their colours, the same in whatever order they are given.
func NewPalette(names ...string) (p Palette) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		p.ColorIndex(name)
	}
	return p
}

// Of returns the number of a name, from 0 to Colors-1.
func (p *Palette) ColorIndex(name string) int {
	if color, known := p.of[name]; known {
		return color
	}
	hash := fnv.New32a()
	hash.Write([]byte(name))
	color := int(hash.Sum32() % PaletteSize)
	for range p.taken {
		if !p.taken[color] {
			break
		}
		color = (color + 1) % PaletteSize
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.of[name], p.taken[color] = color, true
	return color
}

// sgr are the colours at a terminal: of the 256 that are the same in each theme, those that can be read on black and on
// white, and none that says how something is.
var sgr = [PaletteSize]string{"38;5;31", "38;5;162", "38;5;98", "38;5;64", "38;5;130", "38;5;30", "38;5;164", "38;5;27", "38;5;132", "38;5;28"}

// SGR returns what gives the name its colour at a terminal, between "\x1b[" and "m".
func (p *Palette) SGR(name string) string { return sgr[p.ColorIndex(name)] }

// Paint returns a text in the colour of a name.
func (p *Palette) Paint(name, text string) string {
	return "\x1b[" + p.SGR(name) + "m" + text + "\x1b[0m"
}
