package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// checkSortedJSON compares jsonSorter with what the library decodes and encodes.
func checkSortedJSON(t *testing.T, text string) {
	t.Helper()
	var decoded any
	if !json.Valid([]byte(text)) || utiljson.Unmarshal([]byte(text), &decoded) != nil {
		return
	}
	want, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	if got := newJSONSorter("", "").append([]byte("before"), text); string(got) != "before"+string(want) {
		t.Errorf("%s: got %s, want %s", text, got[len("before"):], want)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, want, "> ", "    "); err != nil {
		t.Fatal(err)
	}
	if got := newJSONSorter("> ", "    ").append(nil, text); string(got) != indented.String() {
		t.Errorf("%s: indented: got %s, want %s", text, got, indented.String())
	}
}

func TestSortedJSON(t *testing.T) {
	t.Parallel()
	for _, value := range hostileYAML() {
		for _, form := range nested {
			checkSortedJSON(t, `{"kind":"K","apiVersion":"v1","a":`+fmt.Sprintf(form, value)+`}`)
		}
	}
	for _, text := range []string{
		`{"b":1,"a":2}`, `{"b":1,"a":2,"b":3,"a":4}`, `{"b":1,"\u0062":2}`, `{"é":1,"z":2,"Z":3,"":4}`, `{"<a>&":"<a>&"}`, `"a\/b"`, `"\u003c"`, `"\b\f"`,
		`1.0`, `1e21`, `1E3`, `-0`, `-0.0`, `123456789012345678901234567890`, `[]`, `{}`, ` { "b" : [ 1 , 2 ] , "a" : { } } `, `{"a":{"z":1,"y":[{"d":1,"c":null}]}}`,
	} {
		checkSortedJSON(t, text)
	}
	checkSortedJSON(t, strings.Repeat(`{"b":[0,`, maxIndents)+"1"+strings.Repeat(`],"a":{}}`, maxIndents))
}

func FuzzSortedJSON(f *testing.F) {
	for _, value := range hostileYAML() {
		f.Add(`{"kind":"K","a":` + value + `}`)
	}
	f.Fuzz(checkSortedJSON)
}

func BenchmarkSortedJSON(b *testing.B) {
	line, err := os.ReadFile("../watcher/testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	text := gjson.GetBytes(line, "object").Raw
	var dst []byte
	sorter := newJSONSorter(indent, indent)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dst = sorter.append(dst[:0], text)
	}
}
