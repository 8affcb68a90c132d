package change

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// check checks properties of Diff that hold for any two objects.
func check(t testing.TB, old, new map[string]any) {
	t.Helper()
	before := text([]any{old, new})
	r := diffObjects(old, new, Options{})
	if same := text(old) == text(new); same != (len(r.Changes) == 0) {
		t.Fatalf("got changes %q between\n%s\n%s", describe(r), text(old), text(new))
	}
	for i, c := range r.Changes {
		if i > 0 && r.Changes[i-1].Path.compare(c.Path) > 0 {
			t.Fatalf("%s is sorted before %s", r.Changes[i-1].Path, c.Path)
		}
		if c.Kind == Removed {
			find(t, new, pointer(c.Path[:len(c.Path)-1]))
		} else if got := find(t, new, pointer(c.Path)); c.Kind != Moved && text(got) != text(c.New) {
			t.Fatalf("%s of the new object is %s, and the change has %s", c.Path, text(got), text(c.New))
		}
		p, err := ParsePattern(c.Path.String())
		if err != nil || !p.Match(c.Path) {
			t.Fatalf("pattern %s does not match its path: %v", c.Path, err)
		}
	}
	diffObjects(old, new, Options{
		Only:  mustParse("..name", "spec"),
		Noise: Noise{Paths: mustParse("..a.*", "spec..type", "[*].x")},
		Masks: &Masks{Paths: mustParse("..[name=a]", "spec"), Secrets: true},
	})
	if text([]any{old, new}) != before {
		t.Fatal("Diff modified the objects")
	}
}

// find returns the value at a JSON pointer.
func find(t testing.TB, v any, pointer string) any {
	t.Helper()
	for _, token := range strings.Split(pointer, "/")[1:] {
		switch whole := v.(type) {
		case map[string]any:
			v = whole[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(whole) {
				t.Fatalf("%s does not exist in %s", pointer, text(v))
			}
			v = whole[i]
		default:
			t.Fatalf("%s does not exist in %s", pointer, text(v))
		}
	}
	return v
}

func TestDiffRandom(t *testing.T) {
	for seed := range uint64(5_000) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		old := r.object(4)
		check(t, old, r.object(4))
		check(t, old, r.edit(old, 4).(map[string]any))
	}
}

// FuzzDiff compares and patches arbitrary objects.
func FuzzDiff(f *testing.F) {
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
