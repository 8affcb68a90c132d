package output

import (
	"hash/fnv"
	"slices"
)

// PaletteSize is the number of colours of a Palette.
const PaletteSize = 10

// Palette assigns colours to names. A name gets the same colour in each run, unless another name has that already. Two names
// share a colour only if there are more names than colours. The zero value is ready for use. A Palette must not be used from
// several goroutines.
type Palette struct {
	index map[string]int
	taken [PaletteSize]bool
}

// NewPalette returns a Palette in which the names have colours. Their order does not matter.
func NewPalette(names ...string) (p Palette) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		p.ColorIndex(name)
	}
	return p
}

// ColorIndex returns the number of the colour of a name, from 0 to PaletteSize-1.
func (p *Palette) ColorIndex(name string) int {
	if color, known := p.index[name]; known {
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
	if p.index == nil {
		p.index = map[string]int{}
	}
	p.index[name], p.taken[color] = color, true
	return color
}

// sgr are the colours for terminals. They are among the 256 colours that are equal in all themes, readable on black and on white,
// and different from those that mark failures and warnings.
var sgr = [PaletteSize]string{"38;5;31", "38;5;162", "38;5;98", "38;5;64", "38;5;130", "38;5;30", "38;5;164", "38;5;27", "38;5;132", "38;5;28"}

// SGR returns the parameters of the escape sequence for the colour of a name, without "\x1b[" and "m".
func (p *Palette) SGR(name string) string { return sgr[p.ColorIndex(name)] }

// Paint returns a text with the escape sequences for the colour of a name.
func (p *Palette) Paint(name, text string) string {
	return "\x1b[" + p.SGR(name) + "m" + text + "\x1b[0m"
}
