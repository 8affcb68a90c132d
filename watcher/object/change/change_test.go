package change

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// describe returns one line per change.
func describe(r Result) (lines []string) {
	for _, c := range r.Changes {
		line := fmt.Sprintf("%s %s", c.Kind, c.Path)
		if c.Kind != Added {
			line += " " + text(c.Old)
		}
		if c.Kind != Removed {
			line += " -> " + text(c.New)
		}
		lines = append(lines, line)
	}
	if r.NoiseCount > 0 {
		lines = append(lines, fmt.Sprintf("+%d noise", r.NoiseCount))
	}
	return lines
}

// diffTest is a test case: two objects in YAML and the expected changes.
type diffTest struct {
	name, old, new string
	options        Options
	want           []string
}

func (c diffTest) run(t *testing.T) {
	old, new := decode(t, c.old), decode(t, c.new)
	before := text([]any{old, new})
	result := diffObjects(old, new, c.options)
	if diff := cmp.Diff(c.want, describe(result)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if after := text([]any{old, new}); after != before {
		t.Errorf("Diff modified the objects:\n%s\n%s", before, after)
	}
	for range 5 { // map iteration is in random order
		if again := diffObjects(old, new, c.options); !slices.Equal(describe(again), describe(result)) {
			t.Errorf("got another result the second time: %q", describe(again))
		}
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []diffTest{
		{name: "nothing", old: `{a: 1, b: [x, {c: null}]}`, new: `{b: [x, {c: null}], a: 1}`},
		{name: "no object before", old: ``, new: `{a: 1}`, want: []string{`added a -> 1`}},
		{name: "scalars of each type",
			old:  `{spec: {s: x, i: 1, f: 1.5, b: true, same: 7}}`,
			new:  `{spec: {s: z, i: 2, f: 2.5, b: false, same: 7}}`,
			want: []string{`changed spec.b true -> false`, `changed spec.f 1.5 -> 2.5`, `changed spec.i 1 -> 2`, `changed spec.s "x" -> "z"`}},
		{name: "null is a value", old: `{a: null, b: 1, c: null}`, new: `{a: 1, b: null, d: null}`,
			want: []string{`typeChanged a null -> 1`, `typeChanged b 1 -> null`, `removed c null`, `added d -> null`}},
		{name: "types", old: `{a: "1", b: [1], c: {d: 1}, e: true}`, new: `{a: 1, b: {"0": 1}, c: [], e: "true"}`,
			want: []string{`typeChanged a "1" -> 1`, `typeChanged b [1] -> {"0":1}`, `typeChanged c {"d":1} -> []`, `typeChanged e true -> "true"`}},
		{name: "empty", old: `{a: {}, b: [], c: "", d: {x: 1}, e: {x: {}}}`, new: `{d: {}, e: {}, f: {}, g: [], h: ""}`,
			want: []string{`removed a {}`, `removed b []`, `removed c ""`, `removed d.x 1`, `removed e.x {}`, `added f -> {}`, `added g -> []`, `added h -> ""`}},
		{name: "maps as a whole", old: `{metadata: {labels: {a: b, c: d}}}`, new: `{metadata: {annotations: {e.f/g: h}}}`,
			want: []string{`added metadata.annotations -> {"e.f/g":"h"}`, `removed metadata.labels {"a":"b","c":"d"}`}},
		{name: "numbers that mean the same", old: `{a: 1.0, b: 9007199254740993, c: 1e3, d: 9223372036854775808}`,
			new:  `{a: 1, b: 9007199254740992, c: 1000, d: 9223372036854775808}`,
			want: []string{`changed b 9007199254740993 -> 9007199254740992`}},
		{name: "quantities", old: `{spec: {containers: [{name: a, resources: {requests: {cpu: "1", memory: 1Gi}}}]}, data: {cpu: "1"}}`,
			new: `{spec: {containers: [{name: a, resources: {requests: {cpu: 1000m, memory: 2Gi}}}]}, data: {cpu: 1000m}}`,
			want: []string{`changed data.cpu "1" -> "1000m"`, `rewritten spec.containers[name=a].resources.requests.cpu "1" -> "1000m"`,
				`changed spec.containers[name=a].resources.requests.memory "1Gi" -> "2Gi"`}},
		{name: "a quantity as a number", old: `{status: {capacity: {cpu: 2, x: a}}}`, new: `{status: {capacity: {cpu: "2", x: b}}}`,
			want: []string{`rewritten status.capacity.cpu 2 -> "2"`, `changed status.capacity.x "a" -> "b"`}},
	} {
		t.Run(c.name, c.run)
	}
}

// TestNumbers compares numbers of different Go types and any number of digits.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		old, new any
		want     Kind
	}{
		{json.Number("1"), json.Number("1.0"), Rewritten},
		{json.Number("100"), json.Number("1E+2"), Rewritten},
		{json.Number("-0"), json.Number("0"), Rewritten},
		{json.Number("0.0010"), json.Number("1e-3"), Rewritten},
		{json.Number("1e999999999999"), json.Number("1e999999999998"), Changed},
		{json.Number("1e999999999"), json.Number("10e999999998"), Rewritten},
		{json.Number("123456789012345678901234567890"), json.Number("123456789012345678901234567891"), Changed},
		{json.Number("5"), int64(5), ""},
		{json.Number("5"), 5, ""},
		{json.Number("5.0"), int64(5), Rewritten},
		{int64(5), float64(5), ""},
		{uint64(18446744073709551615), json.Number("18446744073709551615"), ""},
		{float32(0.5), 0.5, ""},
		{-0.5, 0.5, Changed},
	} {
		result := diffObjects(map[string]any{"n": c.old}, map[string]any{"n": c.new}, Options{})
		got := Kind("")
		if len(result.Changes) > 0 {
			got = result.Changes[0].Kind
		}
		if got != c.want {
			t.Errorf("%v -> %v: %q, want %q", c.old, c.new, got, c.want)
		}
	}
}
