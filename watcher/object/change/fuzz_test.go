package change

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// fuzzed decodes an object as the dynamic client does. If that fails, it decodes numbers as json.Number.
func fuzzed(text string) (object map[string]any, ok bool) {
	if utiljson.Unmarshal([]byte(text), &object) == nil {
		return object, object != nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return object, d.Decode(&object) == nil && object != nil
}

var characters = regexp.MustCompile(`, character (\d+): `)

// FuzzParsePattern checks that any text is a pattern, or causes an error that contains a valid position.
func FuzzParsePattern(f *testing.F) {
	for text := range patternExamples {
		f.Add(text)
	}
	f.Add(`{.a[?(@.b=="c\"")]['d\'e']..f[=g]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		if err == nil {
			for _, path := range examples {
				p.Match(path)
			}
			if p.Match(nil) || p.String() != text {
				t.Errorf("%q", p)
			}
			return
		}
		positions := characters.FindAllStringSubmatch(err.Error(), -1)
		if len(positions) == 0 {
			t.Fatalf("error without a position: %v", err)
		}
		at, _ := strconv.Atoi(positions[len(positions)-1][1])
		if utf8.ValidString(text) && !strings.Contains(text, ", character ") && (at < 1 || at > utf8.RuneCountInString(text)+1) {
			t.Errorf("character %d of %d: %v", at, utf8.RuneCountInString(text), err)
		}
	})
}

// FuzzPath checks that the text of a path is a pattern that matches the path, and contains no control characters.
func FuzzPath(f *testing.F) {
	f.Add("spec", "name", "web", 3)
	f.Add("a.b/c", "", "\x1b[31m", 0)
	f.Fuzz(func(t *testing.T, name, key, v string, index int) {
		path := Path{field(name), item(index, Key{key, v}), value(index, v), item(max(index, 0)), field(v)}
		text := path.String()
		if p, err := ParsePattern(text); err != nil || !p.Match(path) {
			t.Errorf("pattern %s does not match its path: %v", text, err)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
			t.Errorf("unprintable character in %q", text)
		}
	})
}
