package expression

import (
	"fmt"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"
)

// TestLazyMapDuplicateFields checks that the last of several fields with the same name wins, as in other decoders. The
// name may be written with escapes.
func TestLazyMapDuplicateFields(t *testing.T) {
	for _, fields := range []int{1, 12, 36} {
		text := `{"a":1,"\u0061":2`
		for i := range fields {
			text += fmt.Sprintf(`,"f%d":%[1]d`, i)
		}
		m := newLazyMap(text+`,"a":3}`, 0, nil)
		if v, there := m.FindStringKey("a"); !there || v != types.Int(3) {
			t.Errorf("with %d other fields, a is %v, want 3", fields, v)
		}
		if m.Size() != types.Int(fields+1) {
			t.Errorf("got %v fields, want %d", m.Size(), fields+1)
		}
	}
}

// TestLazyDepth checks that values below maxLazyDepth are not decoded lazily. Each lazy level
// parses everything below it again.
func TestLazyDepth(t *testing.T) {
	const depth = 100
	v := decode(strings.Repeat(`[{"a":`, depth/2)+"1"+strings.Repeat("}]", depth/2), 0)
	lazy := 0
	for {
		switch inner := v.(type) {
		case *lazyMap:
			v, _ = inner.Find(types.String("a"))
		case *lazyList:
			v = inner.Get(types.Int(0))
		default:
			if lazy != maxLazyDepth {
				t.Errorf("%d levels are lazy, want %d", lazy, maxLazyDepth)
			}
			return
		}
		lazy++
	}
}

// TestInvalidJSON checks that invalid JSON, which no server sends, does not cause a panic.
func TestInvalidJSON(t *testing.T) {
	for _, text := range []string{`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1]`, `{a:1}`, `{"a":1} x`, `{"a":"`, `{"a":"\`, `{,}`, `{"a":}`, `{"a":[}`, `{"\x":1}`} {
		m := newLazyMap(text, 0, nil)
		if v, there := m.FindStringKey("b"); there {
			t.Errorf("%s: field b is %v, want none", text, v)
		}
		m.FindStringKey("a")
	}
	for _, text := range []string{"", "x", "tru", `"`, `"\x"`, "-", "1.2.3", "1e999", "01x"} {
		if v := decode(text, 0); !types.IsError(v) {
			t.Errorf("%q: got %v, want an error", text, v)
		}
	}
}
