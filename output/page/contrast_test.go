package page

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestContrast tests that graphics have a contrast of at least 3 to 1 with their background in both themes, as WCAG
// 1.4.11 requires.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("assets/page.css")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`--(panel|[a-z]+-bar): #([0-9a-f]{6})`).FindAllStringSubmatch(string(css), -1)
	ground, themes, bars := 0.0, 0, 0
	for _, color := range found {
		rgb, err := strconv.ParseUint(color[2], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		light := luminance(rgb)
		if color[1] == "panel" {
			ground, themes = light, themes+1
			continue
		}
		bars++
		if ratio := (max(light, ground) + 0.05) / (min(light, ground) + 0.05); ratio < 3 {
			t.Errorf("--%s #%s: %.2f to 1", color[1], color[2], ratio)
		}
	}
	if themes != 2 || bars != 10 {
		t.Errorf("%d themes, %d bars", themes, bars)
	}
}

// luminance returns the luminance of a colour relative to white.
func luminance(rgb uint64) float64 {
	part := func(shift int, weight float64) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return weight * c / 12.92
		}
		return weight * math.Pow((c+0.055)/1.055, 2.4)
	}
	return part(16, 0.2126) + part(8, 0.7152) + part(0, 0.0722)
}
