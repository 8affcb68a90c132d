package expression

import (
	"fmt"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"
)

// TestDuplicates: of fields with one name the last counts, as for all decoders, however
// many fields there are.
func TestDuplicates(t *testing.T) {
	for _, fields := range []int{1, 12, 36} {
		text := `{"a":1,"\u0061":2`
		for i := range fields {
			text += fmt.Sprintf(`,"f%d":%[1]d`, i)
		}
		m := newLazyMap(text+`,"a":3}`, 0, nil)
		if v, there := m.FindStringKey("a"); !there || v != types.Int(3) {
			t.Errorf("of %d fields a is %v", fields, v)
		}
		if m.Size() != types.Int(fields+1) {
			t.Errorf("%v fields, want %d", m.Size(), fields+1)
		}
	}
}

// TestLazyDepth: what is nested deep is decoded at once, as each level that is decoded
// by itself reads all that is below it.
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
				t.Errorf("%d levels are lazy", lazy)
			}
			return
		}
		lazy++
	}
}

// TestBroken: what is no JSON, which no server's object is, makes no panic.
func TestBroken(t *testing.T) {
	for _, text := range []string{`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1]`, `{a:1}`, `{"a":1} x`, `{"a":"`, `{"a":"\`, `{,}`, `{"a":}`, `{"a":[}`, `{"\x":1}`} {
		m := newLazyMap(text, 0, nil)
		if v, there := m.FindStringKey("b"); there {
			t.Errorf("%s has %v", text, v)
		}
		m.FindStringKey("a")
	}
	for _, text := range []string{"", "x", "tru", `"`, `"\x"`, "-", "1.2.3", "1e999", "01x"} {
		if v := decode(text, 0); !types.IsError(v) {
			t.Errorf("%q is %v", text, v)
		}
	}
}
