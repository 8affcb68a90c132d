package output

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"dwatch/watcher/event"
)

// decodedYAML returns an object as the library writes it by itself or, if column is 2, as an item of a list.
func decodedYAML(t *testing.T, text string, column int, o Options) string {
	t.Helper()
	u, err := o.open(event.NewObject(&event.Identity{}, text))
	if err != nil {
		return ""
	}
	value := convertFloats(u.Object)
	if column > 0 {
		value = []any{value}
	}
	want, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(want), "- ")
}

// checkBlockYAML compares an object as YAML with what the library makes of it, and reports whether that was needed.
func checkBlockYAML(t *testing.T, text string) bool {
	t.Helper()
	gaveUp := false
	for _, column := range []int{0, 2} {
		for _, unmanaged := range []bool{false, true} {
			got, ok := appendBlockYAML([]byte("before"), text, column, unmanaged)
			if want := "before" + decodedYAML(t, text, column, Options{OmitManagedFields: unmanaged}); ok && string(got) != want {
				t.Fatalf("%s at column %d: got\n%s\nwant\n%s", text, column, got, want)
			}
			gaveUp = gaveUp || !ok
		}
	}
	return gaveUp
}

// hostileYAML are values that YAML reads as something else, or writes in a way of their own.
func hostileYAML() (all []string) {
	for _, s := range []string{
		"", " ", "a", " a", "a ", "a: b", "a:b", "a:", "a #b", "a#b", "#a", "-", "- a", "-a", "---", "--- a", "...", ".5", ".inf", ".nan", "?", "? a", "?a", ":", ":a", "<<", "~", "=", "!a",
		"&a", "*a", "[a]", "{a}", "a,b", "'", "'a'", "\"a\"", "a\"b", "\\", "%a", "@a", "`a", "|", ">", "y", "Y", "yes", "no", "NO", "on", "off", "true", "True", "TRUE", "tRUE", "null", "Null", "nil", "n",
		"0", "-0", "+1", "1", "-1", "007", "089", "0x1f", "0b11", "0o17", "1_000", "1e3", "1E3", "1e400", "1.5", "1.", "1.2.3", "10.0.0.1", "10.0.0.0/24", "10.0.0.1:80", "190:20:30", "1:2", "12:30:45", "80%",
		"100m", "1Gi", "3d", "1e", "1e+", "1e+5", "1.e5", "1.5e5x", "9e3779b1", "03c6ef36", "0e5", "0b-1", "0B1", "0X1", "0O1", "123e4567", "0_1", "123abc", "abc123", "12345678901234567890123", strings.Repeat("9", 99), strings.Repeat("9", 400), "2026-01-31", "2026-1-2", "2026-01-31T02:00:00Z", "2026-13-31T02:00:00Z",
		"2026-01-31T02:00:00.000001Z", "2026-01-31T02:00:00,5Z", "2026-01-31T02:00:00+01:00", "2026-01-31 02:00:00", "2026-x", "3f2a1b4c-0000-4000-8000-1234567890ab", "1-2", "1e-5", "1e-5-6", "1-2-3",
		"a\nb", "a\n", "\na", " a\nb", "a\n b ", "a\r\nb", "a\tb", "\t", "\x00", "\x1b[31m", "\x7f", "\u0080", "\u0085", "\u2028", "\ufeff", "é", "日本", "😀", "\ufffd", "a  b",
		strings.Repeat("a", 200), strings.Repeat("word ", 40) + "end", strings.Repeat("word  ", 40), strings.Repeat("a: b ", 40), strings.Repeat("x", 79) + " y", strings.Repeat("x", 78) + " y z", strings.Repeat("é ", 60),
	} {
		text, _ := json.Marshal(s)
		all = append(all, string(text))
	}
	return append(all, "1", "-1", "0", "-0", "1.0", "1.5", "1e3", "1E400", "123456789012345678", "9223372036854775807", "9223372036854775808", "-123456789012345678901", "true", "false", "null", "{}", "[]", "{ }", "[ ]",
		`"\ud800"`, `"\u00e9"`, `"\u0061"`, "\"\x80\"", "\"a\x7fb\"", "\"\u0085\"")
}

// nested puts a value into maps and lists.
var nested = []string{`%s`, `{"a":%s}`, `[%s]`, `[[%s]]`, `[[[{"a":%s}]]]`, `{"a":{"b":{"c":%s,"d":[%[1]s,{"e":%[1]s,"f":[%[1]s]}]}}}`, `[{"a":%s},{"a":{"b":%[1]s}},[%[1]s,[%[1]s,{}],[]],%[1]s]`}

// An object as YAML is what the library writes, whatever is in it.
func TestBlockYAML(t *testing.T) {
	t.Parallel()
	object := func(member string) string { return `{"kind":"K","apiVersion":"v1",` + member + `}` }
	for _, value := range hostileYAML() {
		for _, form := range nested {
			checkBlockYAML(t, object(`"spec":`+fmt.Sprintf(form, value)))
		}
		if strings.HasPrefix(value, `"`) {
			checkBlockYAML(t, object(`"spec":{`+value+`:"v"}`))
			checkBlockYAML(t, object(`"spec":{"deep":[{`+value+`:{"b":["c"]},"z":{`+value+`:[]}}]}`))
		}
	}
	for _, text := range []string{
		"", "{", "[]", "1", "{}", `{"kind":""}`, `{"kind":1}`, `{"apiVersion":"a/b/c","kind":"K"}`, `{"kind":"K"}`, `{"kind":"K","kind":"L"}`, object(`"a":{"b":1,"b":2}`), object(`"a":{"b":1,"\u0062":2}`),
		object(`"metadata":{"managedFields":[{"a":1}],"name":"a"}`), object(`"metadata":{"managedFields":[]}`), object(`"metadata":{"managed\u0046ields":[],"name":"a"}`), object(`"metadata":null`), object(`"metadata":[{"managedFields":1}]`),
		object(`"spec":{"metadata":{"managedFields":[1]}}`), " \n" + object("\n\t\"a\" : [ 1 , { \"b\" : null } ] ") + "\n", object(`"a":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200)), object("\"a\":\"\x01\""),
	} {
		checkBlockYAML(t, text)
	}
}

// What objects have mostly does not need the library for the whole.
func TestBlockYAMLKnows(t *testing.T) {
	t.Parallel()
	text := `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"note":"a \"quoted\" one\nof two lines","app.kubernetes.io/name":"web"},"creationTimestamp":"2026-01-31T02:00:00Z","labels":{"a10":"true","a9":""},"name":"web","ownerReferences":[{"uid":"3f2a1b4c-0000-4000-8000-1234567890ab"}]},
		"spec":{"containers":[{"image":"nginx:1.25","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"100m"}},"args":["--flag=1","x"]}]},"status":{"podIP":"10.0.0.1","conditions":[],"message":"` + strings.Repeat("it waits: for ", 20) + `"}}`
	if checkBlockYAML(t, text) {
		t.Error("it is decoded")
	}
}

// Names are in the order of the library.
func TestBlockYAMLOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	known := 0
	for range 20_000 {
		var names []string
		for range 3 {
			var name strings.Builder
			for range 1 + random.IntN(6) {
				name.WriteByte("ab01289-./Z"[random.IntN(11)])
			}
			if !slices.Contains(names, name.String()) {
				names = append(names, name.String())
			}
		}
		if len(names) < 2 { // of two there is but one order
			continue
		}
		if !checkBlockYAML(t, fmt.Sprintf(`{"kind":"K","a":{%q:1,%q:2}}`, names[0], names[1])) {
			known++
		}
	}
	if known < 15_000 {
		t.Errorf("it gave up, but for %d", known)
	}
}

func FuzzBlockYAML(f *testing.F) {
	for _, value := range hostileYAML() {
		for _, form := range nested {
			f.Add(`{"kind":"K","a":` + fmt.Sprintf(form, value) + `}`)
		}
	}
	f.Fuzz(func(t *testing.T, text string) { checkBlockYAML(t, text) })
}

func TestYAMLNumber(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]any{
		1: int64(1), 1e6: int64(1e6), 12345678901234567000: uint64(12345678901234567000), -1e18: int64(-1e18),
		1e20: 1e20, 1.5: 1.5, 1e21: 1e21, 1e-9: 1e-9,
	} {
		if got := yamlNumber(f); got != want {
			t.Errorf("yamlNumber(%v): got %T %[2]v, want %T %[3]v", f, got, want)
		}
	}
}
