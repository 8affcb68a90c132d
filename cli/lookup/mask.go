package lookup

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// minSecret is the minimum number of bytes of a masked value. Shorter values would match parts of other words.
const minSecret = 4

// secretValues maps secret texts to their replacements, such as <name/key>.
type secretValues map[string]string

// add adds the forms in which a log may contain a value: the value, its lines, its base64 encodings, the password of a URL,
// and the strings of a JSON value. mask handles escapes.
func (s secretValues) add(value, name string) {
	trimmed := strings.TrimSpace(value)
	s.addForm(trimmed, name)
	for _, text := range []string{value, trimmed} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			encoded := encoding.EncodeToString([]byte(text))
			s.addForm(encoded, name)
			s.addForm(strings.TrimRight(encoded, "="), name)
		}
	}
	for line := range strings.Lines(trimmed) {
		s.addForm(strings.TrimSpace(line), name)
	}
	if u, err := url.Parse(trimmed); err == nil && u.User != nil {
		password, _ := u.User.Password()
		s.addForm(password, name)
	}
	var inside any
	if err := json.Unmarshal([]byte(trimmed), &inside); err == nil {
		s.addTexts(inside, name)
	}
}

func (s secretValues) addForm(form, name string) {
	if len(form) >= minSecret {
		s[form] = name
	}
}

// addTexts adds the strings in a JSON value, such as the password of a registry.
func (s secretValues) addTexts(inside any, name string) {
	switch inside := inside.(type) {
	case string:
		s.addForm(strings.TrimSpace(inside), name)
	case []any:
		for _, one := range inside {
			s.addTexts(one, name)
		}
	case map[string]any:
		for _, one := range inside {
			s.addTexts(one, name)
		}
	}
}

// part is a range of a text, and the name that replaces it.
type part struct {
	from, to int
	name     string
}

// mask replaces the values in a text, also if they are escaped as in URLs or JSON, fully or in part.
func (s secretValues) mask(text string) string {
	plain := asIs(text)
	unquoted := plain.unescape(inJSON)
	byStart := map[string][]string{}
	for value := range s {
		byStart[value[:minSecret]] = append(byStart[value[:minSecret]], value)
	}
	var parts []part
	for _, r := range []reading{
		plain, plain.unescape(inURL), plain.unescape(inQuery),
		unquoted, unquoted.unescape(inURL), unquoted.unescape(inQuery), unquoted.unescape(inJSON),
	} {
		parts = s.find(parts, r, byStart)
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(a.from-b.from, b.to-a.to, strings.Compare(a.name, b.name))
	})
	var masked strings.Builder
	end := 0 // of the masked or copied text
	for _, p := range parts {
		if p.from >= end {
			masked.WriteString(text[end:p.from])
			masked.WriteString(p.name)
		}
		end = max(end, p.to) // of overlapping parts, only the first is named
	}
	masked.WriteString(text[end:])
	return masked.String()
}

// find adds the positions of the values in a reading. byStart groups the values by their first minSecret bytes.
func (s secretValues) find(parts []part, r reading, byStart map[string][]string) []part {
	for at := range max(0, len(r.text)-minSecret+1) {
		for _, value := range byStart[r.text[at:at+minSecret]] {
			if strings.HasPrefix(r.text[at:], value) {
				parts = append(parts, part{r.from[at], r.end(at + len(value)), s[value]})
			}
		}
	}
	return parts
}

// reading is an unescaped text. from maps each of its bytes, and its end, to a position in the original text.
type reading struct {
	text string
	from []int
}

func asIs(text string) reading {
	from := make([]int, len(text)+1)
	for i := range from {
		from[i] = i
	}
	return reading{text, from}
}

// end maps the end of a part to the original text: after an escape, if the part ends within its meaning.
func (r reading) end(at int) int {
	for at < len(r.text) && r.from[at] == r.from[at-1] {
		at++
	}
	return r.from[at]
}

// unescape replaces escapes by their meaning. escaped returns the meaning and length of the escape at the beginning of a
// text, or length zero if there is none.
func (r reading) unescape(escaped func(text string) (meaning string, size int)) reading {
	text, from := make([]byte, 0, len(r.text)), make([]int, 0, len(r.from))
	for i := 0; i < len(r.text); {
		meaning, size := escaped(r.text[i:])
		if size == 0 {
			meaning, size = r.text[i:i+1], 1
		}
		for range len(meaning) {
			from = append(from, r.from[i])
		}
		text = append(text, meaning...)
		i += size
	}
	return reading{string(text), append(from, r.from[len(r.text)])}
}

// inURL reads an escape as in URLs, such as %40.
func inURL(text string) (meaning string, size int) {
	if len(text) < 3 || text[0] != '%' {
		return "", 0
	}
	decoded, err := hex.DecodeString(text[1:3])
	if err != nil {
		return "", 0
	}
	return string(decoded), 3
}

// inQuery reads an escape as in the query of a URL: as in inURL, and + for a space.
func inQuery(text string) (meaning string, size int) {
	if text[0] == '+' {
		return " ", 1
	}
	return inURL(text)
}

var jsonEscapes = map[byte]string{'"': `"`, '\'': `'`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}

// inJSON reads an escape as in JSON, such as \" or \u00e9.
func inJSON(text string) (meaning string, size int) {
	if len(text) < 2 || text[0] != '\\' {
		return "", 0
	}
	if meaning, ok := jsonEscapes[text[1]]; ok {
		return meaning, 2
	}
	first, ok := unicodeEscape(text)
	if !ok {
		return "", 0
	}
	if second, ok := unicodeEscape(text[6:]); ok && utf16.IsSurrogate(first) {
		return string(utf16.DecodeRune(first, second)), 12
	}
	return string(first), 6
}

// unicodeEscape reads an escape such as \u00e9, without combining surrogates.
func unicodeEscape(text string) (rune, bool) {
	if len(text) < 6 || !strings.HasPrefix(text, `\u`) {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
