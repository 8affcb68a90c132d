package change

import (
	"encoding/json"
	"testing"
)

// field, item, value and gone return steps of paths.
func field(name string) Step { return Step{Field: name} }

func item(index int, keys ...Key) Step { return Step{Item: &Item{Index: index, Keys: keys}} }

func value(index int, v any) Step { return Step{Item: &Item{Index: index, InSet: true, Value: v}} }

func gone(index int) Step { return Step{Item: &Item{Index: index, removed: true}} }

// TestPath checks the text of paths, and that the text is a pattern that matches the path and everything below it.
func TestPath(t *testing.T) {
	for _, c := range []struct {
		path          Path
		text, pointer string
	}{
		{Path{field("spec"), field("replicas")}, `spec.replicas`, `/spec/replicas`},
		{Path{field("spec"), field("containers"), item(1, Key{"name", "web"}), field("image")}, `spec.containers[name=web].image`, `/spec/containers/1/image`},
		{Path{field("spec"), field("ports"), item(0, Key{"port", int64(80)}, Key{"protocol", "TCP"})}, `spec.ports[port=80,protocol=TCP]`, `/spec/ports/0`},
		{Path{field("metadata"), field("annotations"), field("a.b/c~d")}, `metadata.annotations[a.b/c~d]`, `/metadata/annotations/a.b~1c~0d`},
		{Path{field("metadata"), field("finalizers"), value(0, "a.b/c")}, `metadata.finalizers[=a.b/c]`, `/metadata/finalizers/0`},
		{Path{field("spec"), field("rules"), item(2)}, `spec.rules[2]`, `/spec/rules/2`},
		{Path{field("a"), item(1), item(2), field("b")}, `a[1][2].b`, `/a/1/2/b`},
		{Path{field("data"), field("app-1.conf")}, `data[app-1.conf]`, `/data/app-1.conf`},
		{Path{field("data"), field("app-1")}, `data.app-1`, `/data/app-1`},
		{Path{field("data"), field("80")}, `data["80"]`, `/data/80`},
		{Path{field("data"), field("-1:2")}, `data["-1:2"]`, `/data/-1:2`},
		{Path{field("data"), field("")}, `data[""]`, `/data/`},
		{Path{field("a.b")}, `[a.b]`, `/a.b`},
		{Path{field("data"), field("x]=y")}, `data["x]=y"]`, `/data/x]=y`},
		{Path{field("data"), field("a b\t\x1b\u202e'\"\\")}, `data["a b\t\x1b\u202e'\"\\"]`, "/data/a b\t\x1b\u202e'\"\\"},
		{Path{field("data"), field("\xff\ufffd")}, `data["\xff�"]`, "/data/\xff\ufffd"},
		{Path{field("data"), field("ä漢")}, `data[ä漢]`, `/data/ä漢`},
		{Path{field("l"), item(0, Key{"name", "a,b"}, Key{"x.y", nil}, Key{"", true}, Key{"v", json.Number("1.50")})}, `l[name="a,b",x.y=null,""=true,v=1.50]`, `/l/0`},
		{Path{field("l"), item(0, Key{"mountPath", "/var/lib"}, Key{"ip", "fe80::1"})}, `l[mountPath=/var/lib,ip=fe80::1]`, `/l/0`},
		{Path{field("l"), value(0, ""), value(1, 1.5)}, `l[=""][=1.5]`, `/l/0/1`},
	} {
		if got := c.path.String(); got != c.text {
			t.Errorf("%s, want %s", got, c.text)
		}
		if got := pointer(c.path); got != c.pointer {
			t.Errorf("%s, want %s", got, c.pointer)
		}
		p, err := ParsePattern(c.text)
		if err != nil || !p.Match(c.path) || p.Match(c.path[:len(c.path)-1]) || !p.Match(append(c.path, field("x"))) {
			t.Errorf("pattern %s does not match exactly its path and the paths below: %v", c.text, err)
		}
	}
}

func TestCompare(t *testing.T) {
	sorted := []Path{
		{}, {field("a")}, {field("a"), item(0)}, {field("a"), item(0), field("b")}, {field("a"), gone(1), field("z")}, {field("a"), item(1)}, {field("a"), item(1), field("b")},
		{field("a"), item(10)}, {field("a-b")}, {field("b"), field("a")},
	}
	for i, p := range sorted {
		for j, q := range sorted {
			if got := p.compare(q); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("compare(%q, %q) = %d", p, q, got)
			}
		}
	}
}
