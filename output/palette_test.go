package output

import (
	"fmt"
	"math"
	"testing"
)

// TestPalette: names have different colours while there are some, and keep theirs.
func TestPalette(t *testing.T) {
	var p, again Palette
	of, seen := map[string]int{}, map[int]bool{}
	for n := range PaletteSize {
		name := fmt.Sprint("prod-", n)
		of[name] = p.ColorIndex(name)
		seen[of[name]] = true
	}
	if len(seen) != PaletteSize {
		t.Errorf("%d names have %d colours", PaletteSize, len(seen))
	}
	if color := p.ColorIndex("one more"); color < 0 || color >= PaletteSize {
		t.Errorf("there is no colour %d", color)
	}
	for name, color := range of {
		if p.ColorIndex(name) != color {
			t.Errorf("%s has another colour", name)
		}
	}
	if first := again.ColorIndex("prod-0"); first != of["prod-0"] {
		t.Errorf("in another run prod-0 has %d, not %d", first, of["prod-0"])
	}
	names := []string{"eu", "prod-eu", "prod-us", "us", "asia", "staging"}
	one, other := NewPalette(names...), NewPalette("staging", "asia", "us", "prod-us", "prod-eu", "eu")
	for _, name := range names {
		if one.ColorIndex(name) != other.ColorIndex(name) {
			t.Errorf("%s has another colour where it is named elsewhere", name)
		}
	}
}

// TestSGR checks that the colours for terminals can be read on a dark and on a light background, that they differ, and that
// none is the colour of failures.
func TestSGR(t *testing.T) {
	seen := map[string]bool{}
	for _, code := range sgr {
		var n int
		if _, err := fmt.Sscanf(code, "38;5;%d", &n); err != nil || n < 16 || n > 231 || seen[code] {
			t.Fatalf("%q: %v", code, err)
		}
		seen[code] = true
		r, g, b := cube((n-16)/36), cube((n-16)/6%6), cube((n-16)%6)
		light := 0.2126*r + 0.7152*g + 0.0722*b // as WCAG has it, as the contrast
		if onBlack, onWhite := (light+0.05)/0.05, 1.05/(light+0.05); onBlack < 4 || onWhite < 4 {
			t.Errorf("colour %d: %.1f on black, %.1f on white", n, onBlack, onWhite)
		}
		if r > 5*g && r > 5*b {
			t.Errorf("colour %d is red", n)
		}
	}
}

// cube is how much light a level of the colour cube of terminals has.
func cube(level int) float64 {
	value := float64([]int{0, 95, 135, 175, 215, 255}[level]) / 255
	return math.Pow((value+0.055)/1.055, 2.4) * min(1, math.Ceil(value))
}
