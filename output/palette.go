package output

import "hash/fnv"

// Colors is how many colours a Palette has.
const Colors = 10

// Palette gives names the numbers of colours. A name has the same one in each run, unless another
// name has it already; that two have the same is only where there are more of them than colours.
// The zero value is ready for use, from one goroutine.
type Palette struct {
	of    map[string]int
	taken [Colors]bool
}

// Of returns the number of a name, from 0 to Colors-1.
func (p *Palette) Of(name string) int {
	if color, known := p.of[name]; known {
		return color
	}
	hash := fnv.New32a()
	hash.Write([]byte(name))
	color := int(hash.Sum32() % Colors)
	for range p.taken {
		if !p.taken[color] {
			break
		}
		color = (color + 1) % Colors
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.of[name], p.taken[color] = color, true
	return color
}
