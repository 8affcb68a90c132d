package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPatch(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{a: 1}`, `{a: 1}`, `[]`},
		{``, `{a: null}`, `[{"op":"add","path":"/a","value":null}]`},
		{`{a: 1, b: x, c: {d: 1}}`, `{a: 2, c: {e: 1}}`, `[{"op":"replace","path":"/a","value":2},{"op":"remove","path":"/b"},{"op":"remove","path":"/c/d"},{"op":"add","path":"/c/e","value":1}]`},
		{`{"a/b": {"c~d": 1}}`, `{"a/b": {"c~d": null}}`, `[{"op":"replace","path":"/a~1b/c~0d","value":null}]`},
		{`{l: [a, b, c]}`, `{l: [b, c, d]}`, `[{"op":"remove","path":"/l/0"},{"op":"add","path":"/l/2","value":"d"}]`},
		{`{l: [{name: a, v: 1}, {name: b, v: 1}]}`, `{l: [{name: b, v: 2}]}`, `[{"op":"remove","path":"/l/0"},{"op":"replace","path":"/l/0/v","value":2}]`},
		{`{l: [a, b, c]}`, `{l: []}`, `[{"op":"remove","path":"/l/0"},{"op":"remove","path":"/l/0"},{"op":"remove","path":"/l/0"}]`},
		{`{l: [a]}`, `{l: {a: b}}`, `[{"op":"replace","path":"/l","value":{"a":"b"}}]`},
	} {
		if got := text(patchObjects(decode(t, c.old), decode(t, c.new))); got != c.want {
			t.Errorf("%s -> %s:\n%s, want\n%s", c.old, c.new, got, c.want)
		}
	}
}

// apply applies a patch to an object as RFC 6902 requires: a value that is removed or replaced must exist. It may modify the
// object.
func apply(object any, operations []Operation) (_ any, err error) {
	for _, o := range operations {
		if object, err = applyOne(object, strings.Split(o.Path, "/")[1:], o); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.Op, o.Path, err)
		}
	}
	return object, nil
}

func applyOne(v any, tokens []string, o Operation) (any, error) {
	if len(tokens) == 0 {
		return o.Value, nil
	}
	last := len(tokens) == 1
	token := strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[0])
	switch v := v.(type) {
	case map[string]any:
		inner, there := v[token]
		if !there && !(last && o.Op == "add") {
			return nil, fmt.Errorf("no %q", token)
		}
		if last && o.Op == "remove" {
			delete(v, token)
			return v, nil
		}
		var err error
		v[token], err = applyOne(inner, tokens[1:], o)
		return v, err
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i > len(v) || i == len(v) && !(last && o.Op == "add") {
			return nil, fmt.Errorf("no item %q of %d", token, len(v))
		}
		switch {
		case last && o.Op == "add":
			return slices.Insert(v, i, o.Value), nil
		case last && o.Op == "remove":
			return slices.Delete(v, i, i+1), nil
		}
		v[i], err = applyOne(v[i], tokens[1:], o)
		return v, err
	}
	return nil, fmt.Errorf("parent of %q is no map or list", token)
}

// checkPatch encodes the patch from old to new, applies it and compares the bytes.
func checkPatch(t testing.TB, old, new map[string]any) (operations int) {
	t.Helper()
	patch := patchObjects(old, new)
	var read []Operation
	decodeNumbers(t, text(patch), &read)
	var copied any
	decodeNumbers(t, text(old), &copied)
	got, err := apply(copied, read)
	if err != nil {
		t.Fatalf("%v\n%s\n%s\n%s", err, text(old), text(new), text(patch))
	}
	if text(got) != text(new) {
		t.Fatalf("%s\npatched with %s is\n%s, not\n%s", text(old), text(patch), text(got), text(new))
	}
	return len(patch)
}

// TestPatchOptions checks patches without managed fields and with masks.
func TestPatchOptions(t *testing.T) {
	old := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","managedFields":[{"manager":"x"}]},"data":{"k":"aHVudGVyMg==","l":"aa"}}`
	new := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","managedFields":[{"manager":"y"}]},"data":{"k":"aHVudGVyMw==","l":"aa"}}`
	for name, test := range map[string]struct {
		masks         *Masks
		managedFields bool
		want          string
	}{
		"all":       {nil, true, `[{"op":"replace","path":"/data/k","value":"aHVudGVyMw=="},{"op":"replace","path":"/metadata/managedFields/0/manager","value":"y"}]`},
		"unmanaged": {nil, false, `[{"op":"replace","path":"/data/k","value":"aHVudGVyMw=="}]`},
		"masked":    {&Masks{Secrets: true, Key: []byte("k")}, false, `[{"op":"replace","path":"/data/k","value":"<7 bytes, f72ba7>"}]`},
	} {
		if got := text(Patch(old, new, test.masks, test.managedFields)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestChangeJSON checks the encoding of changes.
func TestChangeJSON(t *testing.T) {
	const managed = `"metadata":{"managedFields":[{"manager":"kubectl","operation":"Update","subresource":"scale","time":"2026-01-31T09:00:00Z","fieldsV1":{"f:spec":{"f:replicas":{}}}}]}`
	result := Diff(`{"spec":{"replicas":3,"gone":null,"x":1},"list":["a","b"],`+managed+`}`, `{"spec":{"replicas":12345678901234567890,"x":"<"},"new":{},"list":["b","a"],`+managed+`}`, Options{Noise: DefaultNoise()})
	want := `[{"path":"list[0]","kind":"moved","old":1,"new":0},` +
		`{"path":"new","kind":"added","new":{}},` +
		`{"path":"spec.gone","kind":"removed","old":null},` +
		`{"path":"spec.replicas","kind":"changed","old":3,"new":12345678901234567890,"manager":"kubectl","operation":"Update","subresource":"scale","time":"2026-01-31T09:00:00Z"},` +
		`{"path":"spec.x","kind":"typeChanged","old":1,"new":"<"}]`
	if got := text(result.Changes); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// decodeNumbers decodes JSON with numbers as json.Number.
func decodeNumbers(t testing.TB, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// TestPatchRandom checks patches of random objects.
func TestPatchRandom(t *testing.T) {
	for seed := range uint64(5_000) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		old := r.object(4)
		new := r.object(4)
		if seed%2 == 0 {
			new = r.edit(old, 4).(map[string]any)
		}
		before := text([]any{old, new})
		if n := checkPatch(t, old, new); n == 0 != (text(old) == text(new)) {
			t.Fatalf("%d operations: %s -> %s", n, text(old), text(new))
		}
		if text([]any{old, new}) != before {
			t.Fatal("Patch modified the objects")
		}
	}
}

// random generates JSON values.
type random struct{ *rand.Rand }

var names = []string{"name", "type", "a", "b/c", "~", "", "ü.v", "spec"}

func (r random) object(depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(5) {
		m[names[r.IntN(len(names))]] = r.value(depth - 1)
	}
	return m
}

func (r random) value(depth int) any {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		return r.object(depth)
	case n < 4 && depth > 0:
		list := []any{}
		for range r.IntN(6) {
			list = append(list, r.value(depth-1))
		}
		return list
	case n == 4:
		return r.number()
	case n == 5:
		return []any{nil, true, false, map[string]any{}, []any{}}[r.IntN(5)]
	}
	return names[r.IntN(len(names))]
}

func (r random) number() any {
	return []any{
		int64(r.IntN(3)), r.Int64(), int64(math.MinInt64), float64(r.IntN(3)), r.NormFloat64(), 1e21, 1e-9, math.MaxFloat64, math.Copysign(0, -1),
		json.Number("1.0"), json.Number("1"), json.Number("1e2"), json.Number("123456789012345678901234567890"), json.Number("-0"),
	}[r.IntN(14)]
}

// edit returns a copy with random changes.
func (r random) edit(v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		edited := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if r.IntN(8) > 0 {
				edited[name] = r.edit(v[name], depth-1)
			}
		}
		if r.IntN(4) == 0 {
			edited[names[r.IntN(len(names))]] = r.value(depth)
		}
		return edited
	case []any:
		edited := []any{}
		for _, item := range v {
			switch r.IntN(8) {
			case 0:
			case 1:
				edited = append(edited, r.value(depth-1), item)
			default:
				edited = append(edited, r.edit(item, depth-1))
			}
		}
		if r.IntN(4) == 0 {
			r.Shuffle(len(edited), func(i, j int) { edited[i], edited[j] = edited[j], edited[i] })
		}
		return edited
	}
	if r.IntN(6) == 0 {
		return r.value(depth)
	}
	return v
}
