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

// Digester tells by short digests whether what patterns name in an object is what it was, where the
// object of before is not there any more.
type Digester struct {
	// Key makes the digests of one place say nothing about those of another.
	Key      []byte
	Patterns Patterns
	// Noise is what does not count, as with [Between]: a pattern that names the same or something below
	// asks for it. What was written with another Noise says nothing.
	Noise Noise
}

// A digest is written as digestSize bytes in base64: which pattern it is of, and the hash of what
// that names.
const (
	digestID   = 4
	digestSize = digestID + 8
)

var digestText = base64.RawStdEncoding.EncodedLen(digestSize)

// Of returns the digests of an object, as JSON, one for each pattern; empty if there are none.
func (d *Digester) DigestObject(object string) string {
	var b strings.Builder
	for _, p := range d.Patterns {
		b.WriteString(d.digest(p, object))
	}
	return b.String()
}

// Changed reports whether something at or below what a pattern names is not as in the object of which
// digests are, by what [Between] would report; but of what is named by a field below an item, or by
// the keys of one, not that the item moved. It is not known where they have none of the pattern, or
// the object was of another version of its API.
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
		io.WriteString(facts, f.list+f.step+"="+f.value+"\n")
	}
	return base64.RawStdEncoding.EncodeToString(facts.Sum(which.Sum(nil)[:digestID])[:digestSize])
}

// fact is one part of an object that a pattern names, without noise.
type fact struct {
	list, step, value string // what leads to it, but for the last step; that; and the part
	place             int    // in a list of which the order counts
}

// facts returns what a pattern names: it is what comparing reports of an object that was not there.
func (d *Digester) facts(p Pattern, object string) (facts []fact) {
	w := walk{options: Options{Only: Patterns{p}, Noise: d.Noise}, path: make(Path, 0, 16)}
	managed := managedFieldsOf(object)
	w.fields = fields{new: managed.Raw}
	if !w.reports(managedFields) { // they are not decoded
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
		f := fact{list: identityText(c.Path[:last]), step: identityText(c.Path[last:]), value: w.canonical(c.New)}
		if item := c.Path[last].Item; item != nil {
			if item.managed == "" {
				f.step = "" // its place says it
			}
			if !w.options.Noise.UnorderedLists.Match(c.Path) {
				f.place = item.Index
			}
		}
		facts = append(facts, f)
	}
	slices.SortFunc(facts, func(a, b fact) int {
		return cmp.Or(strings.Compare(a.list, b.list), cmp.Compare(a.place, b.place), strings.Compare(a.step, b.step), strings.Compare(a.value, b.value))
	})
	return facts
}

// enter goes down to what the fields lead to; false if there is no such thing.
func (w *walk) enter(names []string, value gjson.Result) (gjson.Result, bool) {
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

// identityText writes the steps so that no others are written the same: an item with what tells it
// from the others, or where there is nothing with its place.
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

// canonical writes the value at the path in the same way in whatever order its fields are, and the
// items of lists of which the order does not count. Numbers are as they were written: 1 and 1.0
// differ for [Between], too.
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
