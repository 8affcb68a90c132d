package change

import (
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Digester tells by short digests whether what patterns name in an object is what it was, where the
// object of before is not there any more.
type Digester struct {
	// Key makes the digests of one place say nothing about those of another.
	Key      []byte
	Patterns Patterns
}

// A digest is written as digestSize bytes in base64: which pattern it is of, and the hash of what
// that names.
const (
	digestID   = 4
	digestSize = digestID + 8
)

var digestText = base64.RawStdEncoding.EncodedLen(digestSize)

// Of returns the digests of an object, as JSON, one for each pattern; empty if there are none.
func (d *Digester) Of(object string) string {
	var b strings.Builder
	for _, p := range d.Patterns {
		b.WriteString(d.digest(p, object))
	}
	return b.String()
}

// Changed reports whether something at or below what a pattern names is not as in the object of which
// digests are. It is not known where they have none of the pattern, or the object was of another
// version of its API.
func (d *Digester) Changed(digests string, p Pattern, object string) (changed, known bool) {
	now := d.digest(p, object)
	id := base64.RawStdEncoding.EncodedLen(digestID) - 1 // the last character has bits of what follows
	for ; len(digests) >= digestText; digests = digests[digestText:] {
		if digests[:id] == now[:id] {
			return digests[:digestText] != now, true
		}
	}
	return false, false
}

func (d *Digester) digest(p Pattern, object string) string {
	parsed := gjson.Parse(object)
	which := sha256.New()
	for _, part := range []string{string(d.Key), parsed.Get("apiVersion").Str, p.text} {
		io.WriteString(which, strconv.Quote(part))
	}
	facts := sha256.New()
	io.WriteString(facts, strconv.Quote(string(d.Key)))
	f := factWriter{facts, nil}
	f.follow(p.steps, parsed)
	return base64.RawStdEncoding.EncodeToString(facts.Sum(which.Sum(nil)[:digestID])[:digestSize])
}

// factWriter writes what a pattern names, with what leads there: the names of fields, and of an item
// the key that tells it from the others, or where there is none its place.
type factWriter struct {
	to   hash.Hash
	path []string
}

func (f *factWriter) follow(steps []matcher, value gjson.Result) {
	if len(steps) == 0 {
		for _, name := range f.path {
			io.WriteString(f.to, name)
		}
		f.value(value)
		return
	}
	index, isItem := 0, value.IsArray()
	items := itemNames(value)
	eachSorted(value, func(name string, below gjson.Result) {
		step := name
		if isItem {
			step = items[index]
		}
		f.path = append(f.path, "."+step)
		if steps[0].names(name, isItem, index, below) {
			f.follow(steps[1:], below)
		}
		if steps[0].deep {
			f.follow(steps, below)
		}
		f.path = f.path[:len(f.path)-1]
		index++
	})
}

// itemNames returns what tells the items of a list apart.
func itemNames(list gjson.Result) (names []string) {
	if !list.IsArray() {
		return nil
	}
	items := list.Array()
	for _, key := range naturalKeys {
		names = names[:0]
		for _, item := range items {
			if value := item.Get(key); item.IsObject() && value.Exists() && !value.IsObject() && !value.IsArray() {
				names = append(names, "["+value.Raw+"]")
			}
		}
		if len(names) == len(items) && len(slices.Compact(slices.Sorted(slices.Values(names)))) == len(names) {
			return names
		}
	}
	names = names[:0]
	for i := range items {
		names = append(names, strconv.Itoa(i))
	}
	return names
}

// names reports whether a field, or an item of a list, is one that the step means.
func (m *matcher) names(name string, isItem bool, index int, value gjson.Result) bool {
	switch m.kind {
	case namedField:
		return !isItem && name == strconv.Quote(m.name)
	case indexOrName:
		return isItem && m.index == index || !isItem && name == strconv.Quote(m.name)
	case keyedItem:
		return isItem && !slices.ContainsFunc(m.keys, func(want Key) bool {
			has := value.Get(gjson.Escape(want.Name))
			return !has.Exists() || factText(has) != want.Value.(string)
		})
	case setItem:
		return isItem && factText(value) == m.name
	}
	return true
}

// factText is a scalar without quotes.
func factText(value gjson.Result) string {
	if value.Type == gjson.String {
		return value.Str
	}
	return value.Raw
}

// value writes a value in the same way in whatever order its fields are.
func (f *factWriter) value(value gjson.Result) {
	if !value.IsObject() && !value.IsArray() {
		io.WriteString(f.to, "="+value.Raw+"\n")
		return
	}
	io.WriteString(f.to, value.Raw[:1])
	eachSorted(value, func(name string, below gjson.Result) {
		io.WriteString(f.to, name)
		f.value(below)
	})
	io.WriteString(f.to, "}\n")
}

// eachSorted calls do with each field by its name, quoted, or with each item in its place.
func eachSorted(value gjson.Result, do func(name string, below gjson.Result)) {
	type field struct {
		name  string
		value gjson.Result
	}
	var fields []field
	if !value.IsObject() && !value.IsArray() {
		return
	}
	value.ForEach(func(name, below gjson.Result) bool {
		if value.IsArray() {
			do("", below)
		} else {
			fields = append(fields, field{strconv.Quote(name.Str), below})
		}
		return true
	})
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	for _, f := range fields {
		do(f.name, f.value)
	}
}
