package output

import (
	"fmt"
	"testing"
)

// TestPalette: names have different colours while there are some, and keep theirs.
func TestPalette(t *testing.T) {
	var p, again Palette
	of, seen := map[string]int{}, map[int]bool{}
	for n := range Colors {
		name := fmt.Sprint("prod-", n)
		of[name] = p.Of(name)
		seen[of[name]] = true
	}
	if len(seen) != Colors {
		t.Errorf("%d names have %d colours", Colors, len(seen))
	}
	if color := p.Of("one more"); color < 0 || color >= Colors {
		t.Errorf("there is no colour %d", color)
	}
	for name, color := range of {
		if p.Of(name) != color {
			t.Errorf("%s has another colour", name)
		}
	}
	if first := again.Of("prod-0"); first != of["prod-0"] {
		t.Errorf("in another run prod-0 has %d, not %d", first, of["prod-0"])
	}
}
