package change

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// check holds Between to what must be true of any two objects.
func check(t testing.TB, old, new map[string]any) {
	t.Helper()
	before := text([]any{old, new})
	r := Between(old, new, Options{})
	if same := text(old) == text(new); same != (len(r.Changes) == 0) {
		t.Fatalf("%q\n%s\n%s", describe(r), text(old), text(new))
	}
	for i, c := range r.Changes {
		if i > 0 && r.Changes[i-1].Path.compare(c.Path) > 0 {
			t.Fatalf("%s is before %s", r.Changes[i-1].Path, c.Path)
		}
		if c.Kind == Removed {
			find(t, new, pointer(c.Path[:len(c.Path)-1]))
		} else if got := find(t, new, pointer(c.Path)); c.Kind != Moved && text(got) != text(c.New) {
			t.Fatalf("%s is %s, not %s", c.Path, text(got), text(c.New))
		}
		p, err := ParsePattern(c.Path.String())
		if err != nil || !p.Match(c.Path) {
			t.Fatalf("%s does not match itself: %v", c.Path, err)
		}
	}
	Between(old, new, Options{
		Only:  mustParse("..name", "spec"),
		Noise: Noise{Paths: mustParse("..a.*", "spec..type", "[*].x")},
		Masks: &Masks{Paths: mustParse("..[name=a]", "spec"), Secrets: true},
	})
	checkJSON(t, old, new)
	if text([]any{old, new}) != before {
		t.Fatal("the objects have changed")
	}
}

// checkJSON: text compares as what it decodes to does.
func checkJSON(t testing.TB, old, new map[string]any) {
	t.Helper()
	for name, o := range map[string]Options{
		"all":   {},
		"noise": {Noise: DefaultNoise(), Masks: &Masks{Secrets: true, Key: []byte("k")}},
		"only": {
			Only:  mustParse("..name", "spec", "metadata.managedFields[*].time"),
			Noise: Noise{Paths: mustParse("..a.*", "spec..type", "[*].x", "metadata")},
			Masks: &Masks{Paths: mustParse("..[name=a]", "spec")},
		},
	} {
		want, got := Between(numbers(t, old), numbers(t, new), o), BetweenJSON(text(old), text(new), o)
		if w, g := reported(want), reported(got); w != g {
			t.Fatalf("%s: text gives\n%s\nand decoded\n%s\nfor\n%s\n%s", name, g, w, text(old), text(new))
		}
	}
}

// numbers returns the object with its numbers as they are written.
func numbers(t testing.TB, object map[string]any) (same map[string]any) {
	d := json.NewDecoder(strings.NewReader(text(object)))
	d.UseNumber()
	if err := d.Decode(&same); err != nil {
		t.Fatal(err)
	}
	return same
}

// reported is all that a result says.
func reported(r Result) string {
	var b strings.Builder
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "%s %s %s -> %s masked=%t by %+v\n", c.Path, c.Kind, text(c.Old), text(c.New), c.Masked, c.Who)
	}
	return fmt.Sprintf("%s%d noise", b.String(), r.Noise)
}

// find returns what a JSON pointer leads to.
func find(t testing.TB, v any, pointer string) any {
	t.Helper()
	for _, token := range strings.Split(pointer, "/")[1:] {
		switch whole := v.(type) {
		case map[string]any:
			v = whole[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(whole) {
				t.Fatalf("%s leads nowhere in %s", pointer, text(v))
			}
			v = whole[i]
		default:
			t.Fatalf("%s leads nowhere in %s", pointer, text(v))
		}
	}
	return v
}

func TestBetweenRandom(t *testing.T) {
	for seed := range uint64(5_000) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		old := r.object(4)
		check(t, old, r.object(4))
		check(t, old, r.edit(old, 4).(map[string]any))
	}
}

// FuzzBetween: any two objects, of which one may have managed fields.
func FuzzBetween(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"l":[{"name":"a"},{"name":"b"}],"n":1.0}}`,
		`{"spec":{"l":[{"name":"b","x":null},{"name":"a"}],"n":1e400}}`,
		`{"metadata":{"finalizers":["a","a"],"ownerReferences":[{"uid":1}],"managedFields":[{"manager":"a","fieldsV1":{"f:spec":{"f:l":{"k:{\"x\":1}":{},"v:1":{},"k:{":{}}}}}]}}`,
		`{"metadata":{"managedFields":{},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"kind":"Secret","apiVersion":"v1","data":[1]}`,
	} {
		f.Add(seed, seed, 1)
		f.Add(seed, `{}`, 2)
		f.Add(`{"spec":{"l":[{"name":"a"}]}}`, seed, 3)
	}
	f.Fuzz(func(t *testing.T, a, b string, seed int) {
		old, ok := fuzzed(a)
		new, okToo := fuzzed(b)
		if !ok || !okToo {
			t.Skip()
		}
		check(t, old, new)
		checkPatch(t, old, new)
		r := random{rand.New(rand.NewPCG(uint64(seed), 3))}
		check(t, old, r.edit(old, 8).(map[string]any))
		checkPatch(t, new, r.edit(new, 8).(map[string]any))
	})
}
