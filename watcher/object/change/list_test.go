package change

import (
	"fmt"
	"slices"
	"testing"
)

// managed returns metadata with a field set that names the keys of lists.
func managed(set string) string {
	return fmt.Sprintf(`{managedFields: [{manager: m, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: %s}]}`, set)
}

func TestLists(t *testing.T) {
	quiet := Options{Noise: Noise{Paths: patterns(t, "metadata.managedFields")}}
	ports := managed(`{"f:spec": {"f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}}}`)
	codes := managed(`{"f:spec": {"f:codes": {'v:"a"': {}, 'v:"b"': {}}}}`)
	nested := managed(`{"f:spec": {"f:rows": {'k:{"id":"a\u003cb"}': {"f:cells": {'k:{"x":1}': {}}}}}}`)
	for _, c := range []diffTest{
		{name: "keys of managed fields, not the natural one", options: quiet,
			old:  `{metadata: ` + ports + `, spec: {ports: [{name: a, port: 80, protocol: TCP}, {name: b, port: 80, protocol: UDP}]}}`,
			new:  `{metadata: ` + ports + `, spec: {ports: [{name: c, port: 80, protocol: TCP}, {name: b, port: 80, protocol: UDP}]}}`,
			want: []string{`changed spec.ports[port=80,protocol=TCP].name "a" -> "c"`}},
		{name: "keys that only the old object names", options: quiet,
			old:  `{metadata: ` + ports + `, spec: {ports: [{name: a, port: 80, protocol: TCP}, {name: b, port: 81, protocol: TCP}]}}`,
			new:  `{spec: {ports: [{name: b, port: 81, protocol: TCP}]}}`,
			want: []string{`removed spec.ports[port=80,protocol=TCP] {"name":"a","port":80,"protocol":"TCP"}`, "+1 noise"}},
		{name: "a list in an item", options: quiet,
			old:  `{metadata: ` + nested + `, spec: {rows: [{id: a<b, cells: [{x: 1, name: q}, {x: 2, name: r}]}]}}`,
			new:  `{metadata: ` + nested + `, spec: {rows: [{id: a<b, cells: [{x: 1, name: p}, {x: 2, name: r}]}]}}`,
			want: []string{`changed spec.rows[id=a<b].cells[x=1].name "q" -> "p"`}},
		{name: "keys that are not unique", options: quiet,
			old:  `{metadata: ` + ports + `, spec: {ports: [{port: 80, protocol: TCP, v: 1}, {port: 80, protocol: TCP, v: 2}]}}`,
			new:  `{metadata: ` + ports + `, spec: {ports: [{port: 80, protocol: TCP, v: 1}, {port: 80, protocol: TCP, v: 3}]}}`,
			want: []string{`changed spec.ports[1].v 2 -> 3`}},
		{name: "a key with a default", options: quiet,
			old:  `{metadata: ` + ports + `, spec: {ports: [{port: 80, v: 1}, {port: 81}]}}`,
			new:  `{metadata: ` + ports + `, spec: {ports: [{port: 80, v: 2}, {port: 81}]}}`,
			want: []string{`changed spec.ports[port=80].v 1 -> 2`}},
		{name: "a set", options: quiet,
			old:  `{metadata: ` + codes + `, spec: {codes: [a, b, c]}}`,
			new:  `{metadata: ` + codes + `, spec: {codes: [d, b, a]}}`,
			want: []string{`added spec.codes[=d] -> "d"`, `removed spec.codes[=c] "c"`}},
		{name: "a set in another order", old: `{metadata: {finalizers: [a, b, c]}}`, new: `{metadata: {finalizers: [c, a, b]}}`,
			want: []string{`moved metadata.finalizers[=c] 2 -> 0`}},
		{name: "finalizers", old: `{metadata: {finalizers: [a.b/c, d]}}`, new: `{metadata: {finalizers: [d, foregroundDeletion]}}`,
			want: []string{`removed metadata.finalizers[=a.b/c] "a.b/c"`, `added metadata.finalizers[=foregroundDeletion] -> "foregroundDeletion"`}},
		{name: "owners of one name",
			old:  `{metadata: {ownerReferences: [{name: web, uid: a, kind: X, controller: false}, {name: web, uid: b, kind: Z}]}}`,
			new:  `{metadata: {ownerReferences: [{name: web, uid: a, kind: X, controller: true}, {name: web, uid: c, kind: Z}]}}`,
			want: []string{`changed metadata.ownerReferences[name=web].controller false -> true`, `removed metadata.ownerReferences[name=web] {"kind":"Z","name":"web","uid":"b"}`, `added metadata.ownerReferences[name=web] -> {"kind":"Z","name":"web","uid":"c"}`}},
	} {
		t.Run(c.name, c.run)
	}
}

// TestUnmanagedLists compares lists whose items are not in any field set.
func TestUnmanagedLists(t *testing.T) {
	for _, c := range []diffTest{
		{name: "a natural key that all have",
			old:  `{conditions: [{type: A, name: x, status: "True"}, {type: B, status: "False"}]}`,
			new:  `{conditions: [{type: B, status: "True"}, {type: A, name: x, status: "True"}]}`,
			want: []string{`moved conditions[type=B] 1 -> 0`, `changed conditions[type=B].status "False" -> "True"`}},
		{name: "natural keys that are not unique", old: `{l: [{name: x, host: a, v: 1}, {name: x, host: b}]}`, new: `{l: [{name: x, host: a, v: 2}, {name: x, host: b}]}`,
			want: []string{`changed l[host=a].v 1 -> 2`}},
		{name: "items without keys",
			old:  `{rules: [{verbs: [get]}, {verbs: [list]}, {verbs: [watch], x: 1}]}`,
			new:  `{rules: [{verbs: [create]}, {verbs: [get]}, {verbs: [watch], x: 2}]}`,
			want: []string{`added rules[0] -> {"verbs":["create"]}`, `removed rules[1] {"verbs":["list"]}`, `changed rules[2].x 1 -> 2`}},
		{name: "scalars in order", old: `{args: [run, -v, --port, "80", end]}`, new: `{args: [run, --port, "81", end, more]}`,
			want: []string{`removed args[1] "-v"`, `changed args[2] "80" -> "81"`, `added args[4] -> "more"`}},
		{name: "an item moves", old: `{args: [a, b, c, d]}`, new: `{args: [d, a, b, c]}`, want: []string{`moved args[0] 3 -> 0`}},
		{name: "keyed items move", old: `{l: [{name: a}, {name: b}, {name: c}]}`, new: `{l: [{name: c}, {name: b}, {name: a}]}`,
			want: []string{`moved l[name=c] 2 -> 0`, `moved l[name=b] 1 -> 1`}},
		{name: "mixed items", old: `{l: [1, {name: a}, [x], null]}`, new: `{l: [{name: a}, [z], null, 1]}`,
			want: []string{`changed l[1][0] "x" -> "z"`, `moved l[3] 0 -> 3`}},
		{name: "all are new", old: `{l: []}`, new: `{l: [{name: a}, {name: b}]}`, want: []string{`added l[name=a] -> {"name":"a"}`, `added l[name=b] -> {"name":"b"}`}},
		{name: "the list is new", old: `{}`, new: `{l: [{name: a}]}`, want: []string{`added l -> [{"name":"a"}]`}},
	} {
		t.Run(c.name, c.run)
	}
}

func TestAlign(t *testing.T) {
	for _, c := range []struct{ old, new, want, plain string }{
		{"", "", "[]", "[]"},
		{"abc", "abc", "[0 1 2]", "[0 1 2]"},
		{"abc", "abxc", "[0 1 -1 2]", "[0 1 -1 2]"},
		{"abc", "axc", "[0 1 2]", "[0 1 2]"},
		{"abcd", "dabc", "[3 0 1 2]", "[-1 0 1 2]"},
		{"aab", "baa", "[2 0 1]", "[-1 0 1]"},
		{"abcabba", "cbabac", "", ""},
		{"xay", "paq", "[0 1 2]", "[0 1 2]"},
		{"xyza", "pa", "[0 3]", "[0 3]"},
		{"ab", "xyzab", "[-1 -1 -1 0 1]", "[-1 -1 -1 0 1]"},
	} {
		list := func(text string) (items []any) {
			for _, r := range text {
				items = append(items, string(r))
			}
			return items
		}
		for moves, want := range map[bool]string{true: c.want, false: c.plain} {
			got := align(list(c.old), list(c.new), moves)
			if want != "" && fmt.Sprint(got) != want {
				t.Errorf("%s -> %s, moves %v: %v, want %s", c.old, c.new, moves, got, want)
			}
			used := slices.Clone(got)
			slices.Sort(used)
			if i := slices.IndexFunc(used, func(i int) bool { return i >= 0 }); i >= 0 && len(slices.Compact(used[i:])) != len(got)-i {
				t.Errorf("%s -> %s: %v contains an index twice", c.old, c.new, got)
			}
		}
	}
}

// TestLongList compares lists that are too long for a table of all pairs.
func TestLongList(t *testing.T) {
	var old, new []any
	for i := range int64(2000) {
		old = append(old, i)
		if i != 700 {
			new = append(new, i)
		}
	}
	new[0], new[1998] = int64(-1), int64(-2)
	got := describe(diffObjects(map[string]any{"l": old}, map[string]any{"l": new}, Options{}))
	want := []string{"changed l[0] 0 -> -1", "removed l[700] 700", "changed l[1998] 1999 -> -2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %.200q, want %q", got, want)
	}
	if n := len(patchObjects(map[string]any{"l": old}, map[string]any{"l": new})); n != 3 {
		t.Errorf("%d operations, want 3", n)
	}
}
