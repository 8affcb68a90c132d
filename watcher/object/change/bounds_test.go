package change

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/testdata/processor"
)

// long is some times more than any comparison here takes of the processor, also with the race detector,
// and some times less than one whose time grows with the square of the size.
const long = 10 * time.Second

// TestDeep: an object may be as deep as the server takes it, with much in its depth.
func TestDeep(t *testing.T) {
	const depth = 9_000
	text := strings.Repeat("x", 1_000_000)
	for _, brackets := range []string{`{"a":}`, "[]"} {
		deep := func(leaf string) string {
			end := len(brackets) - 1
			return `{"spec":` + strings.Repeat(brackets[:end], depth) + leaf + strings.Repeat(brackets[end:], depth) + "}"
		}
		old, new := deep(`"`+text+`a"`), deep(`"`+text+`b"`)
		before := processor.Time()
		if changes := Diff(old, new, Options{Masks: &Masks{Paths: patterns(t, "status"), Key: runKey}}).Changes; len(changes) != 1 {
			t.Errorf("%s: %d changes", brackets, len(changes))
		}
		if operations := Patch(old, new, nil, true); len(operations) != 1 {
			t.Errorf("%s: %d operations", brackets, len(operations))
		}
		if took := processor.Time() - before; took > long {
			t.Errorf("%s: %s", brackets, took)
		}
	}
}

// TestManyFields: half of very many fields are removed within the second of the write
// before, in which nothing but their absence says who did it.
func TestManyFields(t *testing.T) {
	object := func(fields int) string {
		var data, owned []string
		for i := range fields {
			data = append(data, fmt.Sprintf(`"k%05d":"x"`, i))
			owned = append(owned, fmt.Sprintf(`"f:k%05d":{}`, i))
		}
		return `{"metadata":{"managedFields":[{"manager":"a","operation":"Update","apiVersion":"v1","time":"2026-01-31T09:00:00Z","fieldsV1":{"f:data":{` +
			strings.Join(owned, ",") + `}}}]},"data":{` + strings.Join(data, ",") + `}}`
	}
	const fields = 50_000
	before := processor.Time()
	if changes := Diff(object(fields), object(fields/2), Options{Noise: DefaultNoise()}).Changes; len(changes) != fields/2 {
		t.Errorf("%d changes", len(changes))
	}
	if took := processor.Time() - before; took > long {
		t.Error(took)
	}
}
