package output

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v2"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// blockYAML converts JSON to YAML with the same bytes as the YAML library writes for the decoded object, in a twentieth of the
// time. It writes plain scalars (names, numbers, times) itself. For any other scalar it calls the library.
type blockYAML struct {
	dst    []byte
	column int // of the object's members
	// unmanaged omits metadata.managedFields.
	unmanaged bool
	// maps is a stack: the members of the map that is being written, and of the maps around it.
	maps []blockMember
	// gaveUp is true if only the library can write the object. The content of dst is then useless.
	gaveUp bool
}

// maxBlockDepth bounds the nesting of maps and lists, because each level scans its content again.
const maxBlockDepth = 64

// appendBlockYAML appends an object as YAML. All lines but the first begin at column, which also decides where long lines are
// folded. If column is not 0, the caller has already begun the first line. It returns false if only the library can write the
// object.
func appendBlockYAML(dst []byte, object string, column int, unmanaged bool) ([]byte, bool) {
	root := gjson.Parse(object)
	if !gjson.Valid(object) || !root.IsObject() {
		return dst, false
	}
	// Decoding an object without a kind, or with an invalid apiVersion, is an error.
	kind, version := root.Get("kind"), root.Get("apiVersion")
	if kind.Type != gjson.String || kind.Str == "" || strings.Count(version.Str, "/") > 1 {
		return dst, false
	}
	b := &blockYAML{dst: slices.Grow(dst, len(object)+len(object)/4), column: column, unmanaged: unmanaged}
	b.members(b.membersOf(root, false), column, column > 0)
	return b.dst, !b.gaveUp
}

// blockMember is a member of a map. raw is the name as JSON, with its quotes.
type blockMember struct {
	raw, name string
	value     gjson.Result
}

// membersOf pushes the members of a map to b.maps and returns them in the order of the library.
func (b *blockYAML) membersOf(v gjson.Result, isMetadata bool) []blockMember {
	from := len(b.maps)
	v.ForEach(func(name, value gjson.Result) bool {
		if !isMetadata || !b.unmanaged || name.Str != "managedFields" {
			b.maps = append(b.maps, blockMember{name.Raw, name.Str, value})
		}
		return true
	})
	all := b.maps[from:]
	slices.SortStableFunc(all, func(x, y blockMember) int { return b.compare(x.name, y.name) })
	for n := 1; n < len(all); n++ {
		b.gaveUp = b.gaveUp || all[n].name == all[n-1].name // the last one would count
	}
	return all
}

// compare orders names as the library does: letters come after all other characters, and numbers within names are compared by
// value. It gives up if characters other than ASCII or very large numbers decide the order.
func (b *blockYAML) compare(x, y string) int {
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] && x[n] < utf8.RuneSelf {
		n++
	}
	if n == len(x) || n == len(y) {
		return len(x) - len(y)
	}
	c, d := x[n], y[n]
	if c >= utf8.RuneSelf || d >= utf8.RuneSelf {
		b.gaveUp = true
		return 0
	}
	if isLetter(c) || isLetter(d) {
		return cmp.Or(rank(c)-rank(d), int(c)-int(d))
	}
	one, other := x[n:][:digits(x[n:])], y[n:][:digits(y[n:])]
	b.gaveUp = b.gaveUp || max(len(one), len(other)) > maxDigits
	return cmp.Or(compareNumbers(x[:n], one, other), len(one)-len(other), int(c)-int(d))
}

// rank is 1 for a letter.
func rank(c byte) int {
	if isLetter(c) {
		return 1
	}
	return 0
}

// compareNumbers compares the rests of two numbers by value. before is the common text in front of them, which may end with
// their first digits.
func compareNumbers(before, one, other string) int {
	if strings.TrimLeft(before[len(strings.TrimRight(before, "0123456789")):], "0") == "" { // leading zeros don't count
		one, other = strings.TrimLeft(one, "0"), strings.TrimLeft(other, "0")
	}
	return cmp.Or(len(one)-len(other), strings.Compare(one, other))
}

// maxDigits is a number of digits that an int64 and a float64 can represent.
const maxDigits = 17

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|' ' >= 'a' && c|' ' <= 'z' }

// digits returns the number of digits that a text begins with.
func digits(s string) (n int) {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// indent begins a line, unless the dash of an item has begun it.
func (b *blockYAML) indent(columns int, hasBegun bool) {
	if !hasBegun {
		b.dst = append(b.dst, strings.Repeat(" ", columns)...)
	}
}

// members writes the members of a map that is not empty.
func (b *blockYAML) members(all []blockMember, column int, hasBegun bool) {
	for n, m := range all {
		if b.gaveUp {
			return
		}
		b.indent(column, hasBegun && n == 0)
		if !m.value.IsObject() && !m.value.IsArray() {
			b.scalarMember(m, column)
			continue
		}
		b.name(m)
		b.dst = append(b.dst, ':')
		if m.value.IsArray() {
			b.list(m.value, column, false)
		} else {
			b.object(m.value, column+2, column == b.column && m.name == "metadata", false)
		}
	}
}

// object writes a map after a name, or after the dash of an item.
func (b *blockYAML) object(v gjson.Result, column int, isMetadata, isItem bool) {
	from := len(b.maps)
	all := b.membersOf(v, isMetadata)
	defer func() { b.maps = b.maps[:from] }()
	if b.gaveUp = b.gaveUp || column > 2*maxBlockDepth; len(all) == 0 {
		b.dst = append(b.dst, " {}\n"...)
		return
	}
	b.dst = append(b.dst, separator(isItem))
	b.members(all, column, isItem)
}

// list writes a list after a name, or after the dash of an item.
func (b *blockYAML) list(v gjson.Result, column int, isItem bool) {
	empty := true
	b.gaveUp = b.gaveUp || column > 2*maxBlockDepth
	v.ForEach(func(_, item gjson.Result) bool {
		if empty {
			b.dst = append(b.dst, separator(isItem))
		}
		b.indent(column, empty && isItem)
		b.dst, empty = append(b.dst, '-'), false
		switch {
		case item.IsObject():
			b.object(item, column+2, false, true)
		case item.IsArray():
			b.list(item, column+2, true)
		default:
			b.scalarItem(item, column)
		}
		return !b.gaveUp
	})
	if empty {
		b.dst = append(b.dst, " []\n"...)
	}
}

// separator returns the character in front of the content of a map or list: the first element of an item is on the line of
// its dash.
func separator(isItem bool) byte {
	if isItem {
		return ' '
	}
	return '\n'
}

// maxBlockName is the maximum length of a name whose value is on the same line.
const maxBlockName = 128

// name writes the name of a map or list.
func (b *blockYAML) name(m blockMember) {
	if b.plain(m.raw, 0, true) {
		return
	}
	text := b.library(map[any]any{b.decoded(m.raw): nil}, 0, 0)
	name, is := bytes.CutSuffix(text, []byte(": null\n"))
	b.gaveUp = b.gaveUp || !is || bytes.HasPrefix(name, []byte("? "))
	b.dst = append(b.dst, name...)
}

func (b *blockYAML) scalarMember(m blockMember, column int) {
	begin := len(b.dst)
	if b.plain(m.raw, 0, true) {
		b.dst = append(b.dst, ": "...)
		if b.scalar(m.value, column+len(b.dst)-begin) {
			return
		}
	}
	b.gaveUp = b.gaveUp || len(m.raw) > maxBlockName
	b.dst = append(b.dst[:begin], b.library(map[any]any{b.decoded(m.raw): b.decoded(m.value.Raw)}, column/2, column)...)
}

func (b *blockYAML) scalarItem(v gjson.Result, column int) {
	begin := len(b.dst)
	if b.dst = append(b.dst, ' '); b.scalar(v, column+len("- ")) {
		return
	}
	text := b.library(map[any]any{"in": []any{b.decoded(v.Raw)}}, column/2, 0)
	_, text, _ = bytes.Cut(text, []byte("\n")) // the line with the name
	b.dst = append(b.dst[:begin], text[column+len("-"):]...)
}

// library returns what the library writes for a map that is nested in depth other maps. It omits the outer maps and the first
// column bytes.
func (b *blockYAML) library(m map[any]any, depth, column int) []byte {
	for range depth {
		m = map[any]any{"in": m}
	}
	text, err := yaml.Marshal(m)
	b.gaveUp = b.gaveUp || err != nil
	for range depth {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text[min(column, len(text)):]
}

// decoded decodes a scalar. It gives up if Go can't represent a number.
func (b *blockYAML) decoded(raw string) (value any) {
	b.gaveUp = b.gaveUp || utiljson.Unmarshal([]byte(raw), &value) != nil
	return convertFloats(value)
}

// scalar writes a plain scalar and a line feed. It returns false if the scalar is not plain.
func (b *blockYAML) scalar(v gjson.Result, column int) bool {
	switch v.Type {
	case gjson.String:
		if !b.plain(v.Raw, column, false) {
			return false
		}
	case gjson.Number:
		if n := strings.TrimPrefix(v.Raw, "-"); digits(n) < len(n) || len(n) > maxDigits || v.Raw == "-0" {
			return false
		}
		b.dst = append(b.dst, v.Raw...)
	default:
		b.dst = append(b.dst, v.Raw...)
	}
	b.dst = append(b.dst, '\n')
	return true
}

// maxBlockLine is the column at which the library folds a line, at the next space.
const maxBlockLine = 80

// plain writes a JSON string at a column if the library would write it unchanged or in double quotes. Otherwise it returns
// false.
func (b *blockYAML) plain(raw string, column int, isName bool) bool {
	s := raw[1 : len(raw)-1]
	style := styleOf(s)
	switch {
	case style == unknownStyle, isName && len(s) > maxBlockName, !isName && column+len(s) > maxBlockLine && strings.Contains(s, " "):
		return false
	case style == quotedStyle:
		b.dst = append(b.dst, raw...)
	default:
		b.dst = append(b.dst, s...)
	}
	return true
}

// blockStyle is the style in which the library writes a string.
type blockStyle int

const (
	unknownStyle blockStyle = iota
	plainStyle
	quotedStyle // because a reader would take it for another type
)

// inPlain are the characters besides letters and digits that have no meaning within a plain scalar. A colon in front of a space
// and a space at the end have one.
const inPlain = "._/-=+@(),;<>[]{}*&!|%~^$?': "

var isInPlain = func() (is [256]bool) {
	for c := range is {
		is[c] = isLetter(byte(c)) || isDigit(byte(c)) || strings.IndexByte(inPlain, byte(c)) >= 0
	}
	return is
}()

// reserved are the words that YAML reads as a boolean or null.
var reserved = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true, "true": true, "True": true, "TRUE": true,
	"n": true, "N": true, "no": true, "No": true, "NO": true, "off": true, "Off": true, "OFF": true, "false": true, "False": true, "FALSE": true,
	"null": true, "Null": true, "NULL": true,
}

func styleOf(s string) blockStyle {
	if s == "" {
		return quotedStyle
	}
	for n := range len(s) {
		switch c := s[n]; {
		case !isInPlain[c], c == ':' && (n+1 == len(s) || s[n+1] == ' '), c == ' ' && n+1 == len(s):
			return unknownStyle
		}
	}
	switch c := s[0]; {
	case isDigit(c):
		return numberStyle(s)
	case !isLetter(c) && c != '/' && c != '_':
		return unknownStyle
	case reserved[s]:
		return quotedStyle
	}
	return plainStyle
}

// numberStyle returns the style of a text that begins with a digit, which may be a number or a time.
func numberStyle(s string) blockStyle {
	switch {
	case len(s) > 4 && s[4] == '-':
		if _, err := time.Parse(time.RFC3339, s); err == nil {
			return quotedStyle
		}
		return unknownStyle
	case strings.ContainsAny(s, ":_"), len(s) > 1 && s[0] == '0' && isLetter(s[1]): // numbers of base 60, 2, 8 or 16
		return unknownStyle
	case len(s) <= maxDigits && digits(s) == len(s):
		return quotedStyle
	case isFloat(s):
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return quotedStyle
		}
	}
	return plainStyle
}

// isFloat reports whether a text that begins with a digit has the form of a number with a decimal point or an exponent.
func isFloat(s string) bool {
	s = s[digits(s):]
	if fraction, is := strings.CutPrefix(s, "."); is {
		s = fraction[digits(fraction):]
	}
	if s != "" && s[0]|' ' == 'e' {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		return s != "" && digits(s) == len(s)
	}
	return s == ""
}
