package change

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/testdata/processor"
)

// timeLimit is several times the processor time of any comparison here, even with the race detector, and a fraction of the
// time that a comparison with quadratic run time would take.
const timeLimit = 10 * time.Second

// TestDeepObject compares objects as deeply nested as the server accepts, with a long text at the bottom.
func TestDeepObject(t *testing.T) {
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
			t.Errorf("%s: %d changes, want 1", brackets, len(changes))
		}
		if operations := Patch(old, new, nil, true); len(operations) != 1 {
			t.Errorf("%s: %d operations, want 1", brackets, len(operations))
		}
		if took := processor.Time() - before; took > timeLimit {
			t.Errorf("%s: took %s, limit %s", brackets, took, timeLimit)
		}
	}
}

// TestManyFields removes half of 50,000 fields in the same second as the write before. The time of the manager's entry does
// not show who removed them then, so its field sets have to be compared.
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
		t.Errorf("%d changes, want %d", len(changes), fields/2)
	}
	if took := processor.Time() - before; took > timeLimit {
		t.Errorf("took %s, limit %s", took, timeLimit)
	}
}
