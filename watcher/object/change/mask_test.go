package change

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

var runKey = []byte("the key of a run")

var hashes = regexp.MustCompile(`, [0-9a-f]{6}>`)

func TestMaskedChanges(t *testing.T) {
	secrets := Options{Masks: &Masks{Secrets: true, Key: runKey}}
	paths := func(texts ...string) Options {
		return Options{Masks: &Masks{Paths: patterns(t, texts...), Key: runKey}, Noise: Noise{Paths: patterns(t, "metadata.managedFields")}}
	}
	for _, c := range []diffTest{
		{name: "a Secret", options: secrets,
			old:  `{apiVersion: v1, kind: Secret, type: a, data: {a: YWJj, b: YWJj, c: "?"}}`,
			new:  `{apiVersion: v1, kind: Secret, type: b, data: {a: YWJj, b: YWJjZA==, d: YWJj}, stringData: {e: abc}}`,
			want: []string{`changed data.b "<3 bytes, HASH>" -> "<4 bytes, HASH>"`, `removed data.c "<1 bytes, HASH>"`, `added data.d -> "<3 bytes, HASH>"`, `added stringData -> {"e":"<3 bytes, HASH>"}`, `changed type "a" -> "b"`}},
		{name: "another kind with data", options: secrets, old: `{apiVersion: v1, kind: ConfigMap, data: {a: x}}`, new: `{apiVersion: v1, kind: ConfigMap, data: {a: z}}`,
			want: []string{`changed data.a "x" -> "z"`}},
		{name: "a Secret of another group", options: secrets, old: `{apiVersion: x.io/v1, kind: Secret, data: {a: x}}`, new: `{apiVersion: x.io/v1, kind: Secret, data: {a: z}}`,
			want: []string{`changed data.a "x" -> "z"`}},
		{name: "only the new state is a Secret", options: secrets, old: `{data: {a: x}}`, new: `{apiVersion: v1, kind: Secret}`,
			want: []string{`added apiVersion -> "v1"`, `removed data {"a":"<1 bytes, HASH>"}`, `added kind -> "Secret"`}},
		{name: "the copies in annotations", options: secrets,
			old:  `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"YWJj\"},\"kind\":\"Secret\",\"n\":1.0}\n", example.com/copy: "{\"data\":{\"a\":\"YWJj\"}}", note: "x", json: "{\"a\":1}"}}}`,
			new:  `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "no json: YWJj", note: "z", json: "{\"a\":2}"}}}`,
			want: []string{`removed metadata.annotations[example.com/copy] "{\"data\":{\"a\":\"<3 bytes, HASH>\"}}"`, `changed metadata.annotations.json "{\"a\":1}" -> "{\"a\":2}"`, `changed metadata.annotations[kubectl.kubernetes.io/last-applied-configuration] "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"<3 bytes, HASH>\"},\"kind\":\"Secret\",\"n\":1.0}\n" -> "<13 bytes, HASH>"`, `changed metadata.annotations.note "x" -> "z"`}},
		{name: "JSON in an annotation without hidden values", options: secrets,
			old:  `{apiVersion: v1, kind: Secret, metadata: {annotations: {json: "{ \"b\": 1, \"a\": \"<\" }"}}}`,
			new:  `{apiVersion: v1, kind: Secret, metadata: {annotations: {json: "{\"a\":\"<\",\"b\":1}"}}}`,
			want: []string{`changed metadata.annotations.json "{ \"b\": 1, \"a\": \"<\" }" -> "{\"a\":\"<\",\"b\":1}"`}},
		{name: "paths", options: paths("spec.env[*].value", "spec.pin", "spec.map", "spec.flag"),
			old:  `{spec: {env: [{name: A, value: x}, {name: B, value: x}], pin: 1234, map: {a: x, b: [1, null]}, flag: true}}`,
			new:  `{spec: {env: [{name: A, value: zz}, {name: C, value: x}], pin: 12345, map: {a: z, b: [1, 2]}, flag: false}}`,
			want: []string{`changed spec.env[name=A].value "<1 bytes, HASH>" -> "<2 bytes, HASH>"`, `removed spec.env[name=B] {"name":"B","value":"<1 bytes, HASH>"}`, `added spec.env[name=C] -> {"name":"C","value":"<1 bytes, HASH>"}`, `changed spec.flag "<boolean, HASH>" -> "<boolean, HASH>"`, `changed spec.map.a "<1 bytes, HASH>" -> "<1 bytes, HASH>"`, `typeChanged spec.map.b[1] null -> "<number, HASH>"`, `changed spec.pin "<number, HASH>" -> "<number, HASH>"`}},
		{name: "keys in paths", options: paths("spec.users", "metadata.finalizers"),
			old:  `{metadata: {finalizers: [a]}, spec: {users: [{name: jane, v: 1}]}}`,
			new:  `{metadata: {finalizers: [b]}, spec: {users: [{name: jane, v: 2}]}}`,
			want: []string{`removed metadata.finalizers[="<1 bytes, HASH>"] "<1 bytes, HASH>"`, `added metadata.finalizers[="<1 bytes, HASH>"] -> "<1 bytes, HASH>"`, `changed spec.users[name="<4 bytes, HASH>"].v "<number, HASH>" -> "<number, HASH>"`}},
		{name: "without a key", options: Options{Masks: &Masks{Paths: patterns(t, "a")}}, old: `{a: x}`, new: `{a: zz}`, want: []string{`changed a "<1 bytes>" -> "<2 bytes>"`}},
		{name: "no masks", options: Options{Masks: &Masks{Key: runKey}}, old: `{apiVersion: v1, kind: Secret, data: {a: x}}`, new: `{apiVersion: v1, kind: Secret, data: {a: z}}`, want: []string{`changed data.a "x" -> "z"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := describe(diffObjects(decode(t, c.old), decode(t, c.new), c.options))
			for i := range got {
				got[i] = hashes.ReplaceAllString(got[i], ", HASH>")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

// TestNothingLeaks checks that no output contains a hidden value, wherever the objects contain it.
func TestNothingLeaks(t *testing.T) {
	const hidden, encoded = "hunter", "aHVudGVy"
	secret := func(applied string) string {
		return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":` + text(applied) + `}}}`
	}
	item := func(name string, v int) string {
		applied := text(fmt.Sprintf(`{"spec":{"l":[{"id":"b","name":"d"},{"id":"hunter","name":%q}]}}`, name))
		return fmt.Sprintf(`{"apiVersion":"x.io/v1","kind":"X","metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":%s},"managedFields":[{"manager":"m",`+
			`"operation":"Update","apiVersion":"x.io/v1","fieldsV1":{"f:spec":{"f:l":{"k:{\"id\":\"hunter\"}":{".":{}},"k:{\"id\":\"b\"}":{".":{}}}}}}]},`+
			`"spec":{"l":[{"id":"b","name":"d"},{"id":"hunter","name":%q,"v":%d}]}}`, applied, name, v)
	}
	for name, c := range map[string]struct {
		masks    Masks
		old, new string
	}{
		"a member twice":           {Masks{Secrets: true}, secret(`{"data":{"p":"aHVudGVyMQ=="},"data":null}`), secret(`{}`)},
		"a member twice, in a map": {Masks{Secrets: true}, secret(`{"data":{"p":"aHVudGVyMQ==","p":null}}`), secret(`{}`)},
		"text after the JSON":      {Masks{Secrets: true}, secret(`{"x":1}]{"data":{"p":"aHVudGVyMQ=="}}`), secret(`{}}hunter`)},
		"no longer a Secret":       {Masks{Secrets: true}, `{"apiVersion":"v1","kind":"Secret","data":{"p":"aHVudGVyMQ=="}}`, `{"apiVersion":"v2","kind":"Secret","data":{"p":"hunter"}}`},
		"a key":                    {Masks{Paths: patterns(t, "spec.l[*].id")}, item("c", 1), item("c", 2)},
		"a key, at any depth":      {Masks{Paths: patterns(t, "..id")}, item("c", 1), item("c", 2)},
		"a key, by another field":  {Masks{Paths: patterns(t, "spec.l[name=c].id")}, item("c", 1), item("c", 2)},
		"a key, by index":          {Masks{Paths: patterns(t, "spec.l[1].id")}, item("c", 1), item("c", 2)},
		"two items of one name": {Masks{Paths: patterns(t, "spec.env[name=A].value")},
			`{"spec":{"env":[{"name":"A","value":"hunter"},{"name":"A","value":"hunter2"}]}}`, `{"spec":{"env":[{"name":"A","value":"hunter3"},{"name":"A","value":"hunter4"}]}}`},
	} {
		output := text(Patch(c.old, c.new, &c.masks, true)) + text(Patch(c.new, c.old, &c.masks, true))
		for _, o := range []Options{{Masks: &c.masks}, {Masks: &c.masks, Only: patterns(t, "data", "spec.l[*].v")}} {
			output += text(Diff(c.old, c.new, o).Changes) + text(Diff(c.new, c.old, o).Changes)
		}
		if name != "no longer a Secret" { // the new state is no Secret, so its value is visible
			output += c.masks.MaskJSON(c.old) + c.masks.MaskJSON(c.new)
		}
		if strings.Contains(output, hidden) || strings.Contains(output, encoded) {
			t.Errorf("%s: the output contains the hidden value: %s", name, output)
		}
	}
}

// TestMaskedFlag checks which changes are marked as masked.
func TestMaskedFlag(t *testing.T) {
	r := diffObjects(decode(t, `{a: 1, b: 1, c: [{name: x, v: 1}]}`), decode(t, `{a: 2, b: 2, c: [{name: x, v: 1}, {name: z, v: 1}]}`),
		Options{Masks: &Masks{Paths: patterns(t, "a", "c[*].v"), Key: runKey}})
	for i, want := range []bool{true, false, true} {
		if r.Changes[i].Masked != want {
			t.Errorf("%s: Masked is %v", r.Changes[i].Path, r.Changes[i].Masked)
		}
	}
}

// TestPlaceholder checks that placeholders are equal for equal values and keys, and different otherwise.
func TestPlaceholder(t *testing.T) {
	placeholder := func(key, v string) string {
		m := Masks{Paths: patterns(t, "v"), Key: []byte(key)}
		return m.MaskObject(map[string]any{"v": v})["v"].(string)
	}
	if a, b := placeholder("k", "x"), placeholder("k", "x"); a != b || !strings.HasPrefix(a, "<1 bytes, ") || len(a) != len("<1 bytes, 123456>") {
		t.Errorf("%s and %s", a, b)
	}
	if placeholder("k", "x") == placeholder("k", "z") || placeholder("k", "x") == placeholder("l", "x") {
		t.Error("the same placeholder for another value or key")
	}
}

// TestMaskObject checks that no output contains a hidden value, and that other values stay.
func TestMaskObject(t *testing.T) {
	const hidden = "TOPSECRET"
	encoded := base64.StdEncoding.EncodeToString([]byte(hidden))
	secret := decode(t, fmt.Sprintf(`{apiVersion: v1, kind: Secret, type: Opaque, data: {a: %[2]q, b: ""}, stringData: {c: %[1]s},
		metadata: {name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":%[2]q},"kind":"Secret","stringData":{"c":"%[1]s"}}'}}}`, hidden, encoded))
	custom := decode(t, fmt.Sprintf(`{apiVersion: x.io/v1, kind: X, spec: {users: [%[1]s], keys: [{id: %[1]s, v: %[1]s}], deep: {a: [{b: %[1]s, c: keep}]}},
		metadata: {name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"users":["%[1]s"]}}', note: '{"a":1}'}, managedFields: [{manager: m, fieldsV1:
		{"f:spec": {"f:users": {'v:"%[1]s"': {}}, "f:keys": {'k:{"id":"%[1]s"}': {".": {}, "f:id": {}}}, "f:deep": {"f:a": {}}}}}]}}`, hidden))
	masks := &Masks{Paths: patterns(t, "spec.users", "spec.keys", "spec.deep.a[*].b"), Secrets: true, Key: runKey}
	for _, object := range []map[string]any{secret, custom} {
		before := text(object)
		masked := masks.MaskObject(object)
		if text(object) != before {
			t.Fatal("MaskObject modified the object")
		}
		got := text(masked)
		if strings.Contains(got, hidden) || strings.Contains(got, encoded) {
			t.Errorf("the masked object contains the hidden value: %s", got)
		}
		if !strings.Contains(before, "keep") != !strings.Contains(got, "keep") || !strings.Contains(got, `"name":"x"`) {
			t.Errorf("other values are hidden: %s", got)
		}
		runtime.DeepCopyJSON(masked) // panics if the object contains a type that is not in decoded JSON
		for _, o := range []Options{{Masks: masks}, {Masks: masks, Noise: DefaultNoise()}} {
			for _, pair := range [][2]map[string]any{{object, {}}, {{}, object}, {object, {"metadata": map[string]any{"managedFields": []any{}}, "kind": "Secret", "apiVersion": "v1"}}} {
				for _, c := range diffObjects(pair[0], pair[1], o).Changes {
					if output := text(c.Old) + text(c.New) + c.Path.String(); strings.Contains(output, hidden) || strings.Contains(output, encoded) {
						t.Errorf("the output contains the hidden value: %s", output)
					}
				}
			}
		}
		if output := text(patchObjects(masks.MaskObject(map[string]any{}), masked)); strings.Contains(output, hidden) || strings.Contains(output, encoded) {
			t.Errorf("the output contains the hidden value: %s", output)
		}
	}
	if pod := decode(t, `{kind: Pod, apiVersion: v1, data: {a: b}}`); !reflect.DeepEqual((&Masks{Secrets: true}).MaskObject(pod), pod) {
		t.Error("a Pod with data was masked like a Secret")
	}
	if same := (*Masks)(nil).MaskObject(secret); text(same) != text(secret) {
		t.Error("nil masks changed the object")
	}
}
