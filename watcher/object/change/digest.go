package change

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Digester detects changes of the parts of an object that patterns name, without the old object: it compares short
// digests of them.
type Digester struct {
	// Key is part of each hash. Digests with different keys can't be compared.
	Key      []byte
	Patterns Patterns
	// Noise is ignored as in [Diff], unless a pattern names the same path or one below it. Digests with different noise
	// can't be compared.
	Noise Noise
}

// A digest is digestSize bytes in base64: an ID of digestID bytes (a hash of the key, the API version, the pattern and
// the noise), then the hash of the values that the pattern names.
const (
	digestID   = 4
	digestSize = digestID + 8
)

var digestText = base64.RawStdEncoding.EncodedLen(digestSize)

// DigestObject returns the digests of an object (JSON), one for each pattern. It returns an empty string if there are no
// patterns.
func (d *Digester) DigestObject(object string) string {
	var b strings.Builder
	for _, p := range d.Patterns {
		b.WriteString(d.digest(p, object))
	}
	return b.String()
}

// Changed reports whether a value at or below the path of a pattern differs from the object of the digests. It reports
// what [Diff] would report, with one exception: for patterns that name an item by its keys, or a field below an item, it
// ignores moves of the item. known is false if the digests contain none with the same key, API version, pattern and noise.
func (d *Digester) Changed(digests string, p Pattern, object string) (changed, known bool) {
	now := d.digest(p, object)
	id := base64.RawStdEncoding.EncodedLen(digestID) - 1 // the last character of the ID also encodes bits of the hash
	for ; len(digests) >= digestText; digests = digests[digestText:] {
		if digests[:id] == now[:id] {
			return digests[:digestText] != now, true
		}
	}
	return false, false
}

func (d *Digester) digest(p Pattern, object string) string {
	which := sha256.New()
	parts := []string{string(d.Key), gjson.Get(object, "apiVersion").Str, p.text}
	for _, noise := range []Patterns{d.Noise.Paths, d.Noise.UnorderedLists, d.Noise.OptionalZeros} {
		parts = append(parts, fmt.Sprint(len(noise)))
		for _, p := range noise {
			parts = append(parts, p.text)
		}
	}
	for _, part := range parts {
		io.WriteString(which, strconv.Quote(part))
	}
	facts := sha256.New()
	io.WriteString(facts, strconv.Quote(string(d.Key)))
	for _, f := range d.facts(p, object) {
		io.WriteString(facts, f.parent+f.step+"="+f.value+"\n")
	}
	return base64.RawStdEncoding.EncodeToString(facts.Sum(which.Sum(nil)[:digestID])[:digestSize])
}

// fact is one value in an object that a pattern names, without noise.
type fact struct {
	parent, step, value string // the path without its last step, the last step, and the value
	index               int    // in an ordered list
}

// facts returns the values that a pattern names: the changes that Diff would report if the object was just created.
func (d *Digester) facts(p Pattern, object string) (facts []fact) {
	w := walk{options: Options{Only: Patterns{p}, Noise: d.Noise}, path: make(Path, 0, 16)}
	managed := managedFieldsOf(object)
	w.fields = fields{new: managed.Raw}
	if !w.reports(managedFields) { // do not decode them
		object = replace(object, managed, "0")
	}
	value, there := w.enter(p.FixedPrefix(), gjson.Parse(object))
	if !there {
		return nil
	}
	w.emit(Added, nil, decodeText(value))
	for _, c := range w.changes {
		w.path = c.Path
		last := len(c.Path) - 1
		f := fact{parent: identityText(c.Path[:last]), step: identityText(c.Path[last:]), value: w.canonical(c.New)}
		if item := c.Path[last].Item; item != nil {
			if item.managed == "" {
				f.step = "" // the item has no name, only an index
			}
			if !w.options.Noise.UnorderedLists.Match(c.Path) {
				f.index = item.Index
			}
		}
		facts = append(facts, f)
	}
	slices.SortFunc(facts, func(a, b fact) int {
		return cmp.Or(strings.Compare(a.parent, b.parent), cmp.Compare(a.index, b.index), strings.Compare(a.step, b.step), strings.Compare(a.value, b.value))
	})
	return facts
}

// enter follows the named fields from value and appends them to the path. It returns the part of value to which they lead. found is
// false if there is no such part.
func (w *walk) enter(names []string, value gjson.Result) (part gjson.Result, found bool) {
	for _, name := range names {
		if !value.IsObject() {
			return value, false
		}
		text, there := members(value)[name]
		if !there {
			return value, false
		}
		value = gjson.Parse(text)
		w.push(Step{Field: name})
	}
	return value, true
}

// identityText returns a unique text for the steps. Items have the name that field managers use, or else their index.
func identityText(steps Path) string {
	var b strings.Builder
	for _, s := range steps {
		switch {
		case s.Item == nil:
			b.WriteString("." + strconv.Quote(s.Field))
		case s.Item.managed != "":
			b.WriteString("[" + s.Item.managed + "]")
		default:
			b.WriteString("[" + strconv.Itoa(s.Item.Index) + "]")
		}
	}
	return b.String()
}

// canonical returns the same text for equal values at the path, regardless of the order of fields and of items in
// unordered lists. Numbers keep their spelling: 1 and 1.0 differ, as in [Diff].
func (w *walk) canonical(value any) string {
	if isScalar(value) {
		return string(appendScalar(nil, value))
	}
	parts, sorted := []string{}, false
	for step, part := range w.fields.children(w.path, value) {
		w.push(step)
		if !isZero(part) || !w.options.Noise.OptionalZeros.Match(w.path) {
			text := w.canonical(part)
			if step.Item == nil {
				text = strconv.Quote(step.Field) + ":" + text
			}
			parts = append(parts, text)
			sorted = sorted || step.Item == nil || w.options.Noise.UnorderedLists.Match(w.path)
		}
		w.pop()
	}
	if sorted {
		slices.Sort(parts)
	}
	brackets := "{}"
	if _, isList := value.([]any); isList {
		brackets = "[]"
	}
	return brackets[:1] + strings.Join(parts, ",") + brackets[1:]
}
