package change

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// decode decodes YAML as the dynamic client decodes objects.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(encoded, &object); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return object
}

// text returns a value as JSON.
func text(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// diffObjects is [Diff] for decoded objects.
func diffObjects(old, new map[string]any, o Options) Result { return Diff(text(old), text(new), o) }

// patchObjects is [Patch] for decoded objects, with managed fields and without masks.
func patchObjects(old, new map[string]any) []Operation { return Patch(text(old), text(new), nil, true) }

func patterns(t testing.TB, texts ...string) (ps Patterns) {
	t.Helper()
	for _, text := range texts {
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

// pointer returns the path as a JSON pointer (RFC 6901) into the new object. For a removed item, it points into the old
// object.
func pointer(p Path) string {
	var b strings.Builder
	for _, s := range p {
		b.WriteByte('/')
		if s.Item != nil {
			b.WriteString(strconv.Itoa(s.Item.Index))
		} else {
			b.WriteString(pointerEscapes.Replace(s.Field))
		}
	}
	return b.String()
}
