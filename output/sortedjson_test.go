package output

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// checkSortedJSON compares appendSortedJSON with what the library decodes and encodes.
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
	if got := appendSortedJSON([]byte("before"), gjson.Parse(text)); string(got) != "before"+string(want) {
		t.Errorf("%s: got %s, want %s", text, got[len("before"):], want)
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
}

func FuzzSortedJSON(f *testing.F) {
	for _, value := range hostileYAML() {
		f.Add(`{"kind":"K","a":` + value + `}`)
	}
	f.Fuzz(checkSortedJSON)
}
