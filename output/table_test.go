package output

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

const (
	twoColumns   = `[{"name":"Name","type":"string","format":"name","priority":0},{"name":"State","type":"string","format":"","priority":0},{"name":"Node","type":"string","format":"","priority":1}]`
	otherColumns = `[{"name":"Name","type":"string","format":"name","priority":0},{"name":"Data","type":"string","format":"","priority":0}]`
)

// rowed is an object of a kind with a row.
func rowed(t *testing.T, kind, name, columns, cells string) event.Object {
	t.Helper()
	o := object(t, `{"apiVersion":"v1","kind":"`+kind+`","metadata":{"name":"`+name+`","namespace":"n","labels":{"a":"1","x/b":"2"}}}`)
	return o.WithRow(`{"columnDefinitions":` + columns + `,"cells":` + cells + `}`)
}

func TestTable(t *testing.T) {
	at := time.Date(2026, 1, 31, 9, 0, 0, 0, time.Local)
	gone := object(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c","namespace":"n"}}`)
	events := []event.Event{
		{Type: event.Added, Object: rowed(t, "Pod", "a", twoColumns, `["a","Running","node-1"]`), Time: at},
		{Type: event.Modified, Object: rowed(t, "Pod", "a-longer-name", twoColumns, `["a-longer-name","Pending",null]`), Time: at},
		{Type: event.Added, Object: rowed(t, "ConfigMap", "m", otherColumns, `["m",3,"too much"]`), Time: at},
		{Type: event.Deleted, Object: gone, FinalStateUnknown: true, Time: at},
	}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"one": {Options{Format: "table"}, `
EVENT       TIME        NAME                STATE
ADDED       09:00:00    a                   Running
MODIFIED    09:00:00    a-longer-name       Pending
EVENT       TIME        NAME    DATA
ADDED       09:00:00    m       3
EVENT       TIME        NAME                STATE
DELETED     09:00:00    c                   <unknown>
`},
		"wide": {Options{Format: "wide", NoHeaders: true, Table: TableOptions{ShowNamespaces: true, ShowKind: true, LabelColumns: []string{"x/b", "none"}, ShowLabels: true}}, `
ADDED       09:00:00    n     pod/a                       Running     node-1      2           a=1,x/b=2
MODIFIED    09:00:00    n     pod/a-longer-name           Pending                 2           a=1,x/b=2
ADDED       09:00:00    n     configmap/m         3     2           a=1,x/b=2
DELETED     09:00:00    n     pod/c                       <unknown>   <unknown>               <none>
`},
	} {
		got := printed(t, test.options, events...)
		if got != test.want[1:] {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// Once a column is wider, it stays so in the batches that follow.
func TestTableWidths(t *testing.T) {
	var out bytes.Buffer
	p, err := New(&out, Options{Format: "table"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"short", "a-name-that-is-longer", "世界", "s"} {
		o := rowed(t, "Pod", name, twoColumns, `["`+name+`","Running",""]`)
		if err := p.Deliver(t.Context(), []event.Event{{Type: event.Added, Object: o}}); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 6 {
		t.Fatalf("%q", lines)
	}
	at := func(line string) int { return len([]rune(line[:strings.Index(line, "Running")])) }
	if at(lines[2]) != at(lines[4]) || at(lines[2]) <= at(lines[1]) || at(lines[3]) != at(lines[2])-2 {
		t.Errorf("%s", out.String())
	}
}

// In a stream a line is an event, whatever is in its cells; in a list the cells are as
// kubectl prints them, and at a terminal nothing can steer that.
func TestTableHostile(t *testing.T) {
	cells := `["a","x\u001b[31m\ty\u009b\u202e\nz\r",""]`
	o := rowed(t, "Pod", "a", twoColumns, cells)
	got := printed(t, Options{Format: "table", NoHeaders: true}, event.Event{Type: event.Added, Object: o})
	if strings.Count(got, "\n") != 1 || strings.ContainsAny(got, "\x1b\t\u009b\u202e") {
		t.Errorf("%q", got)
	}
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		p, err := New(&out, Options{Format: "table", NoHeaders: true, Terminal: terminal})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.PrintList([]event.Object{o}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Contains(got, "\x1b") || !strings.Contains(got, "x^[[31m") || strings.ContainsAny(got, "\u009b\u202e") == terminal {
			t.Errorf("terminal=%t: %q", terminal, got)
		}
	}
}

func TestCellText(t *testing.T) {
	for value, want := range map[string]string{
		`"a"`: "a", `""`: "", `null`: "", `true`: "true", `12`: "12", `-0`: "0", `1.50`: "1.5", `1e3`: "1000",
		`9007199254740993`: "9007199254740993", `12345678901234567890`: "1.2345678901234567e+19",
		`["a",1,{"k":null}]`: "[a 1 map[k:<nil>]]", `[1e999]`: "[1e999]", `"one\ntwo"`: "one...", `"\fx"`: "...", `"\u001b["`: "^[[",
	} {
		if got := cellText(gjson.Parse(value)); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}

// Where a server has no tables there are kubectl's few columns.
func TestNoRows(t *testing.T) {
	created := time.Now().Add(-90 * time.Second).UTC().Format(time.RFC3339)
	o := object(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"n","creationTimestamp":"`+created+`"}}`)
	var out bytes.Buffer
	p, err := New(&out, Options{Format: "table", Table: TableOptions{ShowKind: true, ShowNamespaces: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.PrintList([]event.Object{o, object(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}`)}); err != nil {
		t.Fatal(err)
	}
	want := "NAMESPACE   NAME                  AGE\nn           deployment.apps/web   90s\n\nNAME    AGE\npod/x   <unknown>\n"
	if got := strings.ReplaceAll(out.String(), "91s", "90s"); got != want {
		t.Errorf("%q", got)
	}
}

func TestSort(t *testing.T) {
	var objects []event.Object
	for _, v := range []string{`3`, `"10Mi"`, `null`, `2.5`} {
		objects = append(objects, object(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"v":`+v+`}`))
	}
	order, err := ParseOrder(".v")
	if err != nil {
		t.Fatal(err)
	}
	if err := order.sort(objects); err == nil {
		t.Error("a string and a number are sorted")
	}
	for _, values := range [][]string{{`"9Mi"`, `"1Gi"`}, {`"a"`, `"b"`}, {`1.5`, `2`, `3`}, {`null`, `1`}} {
		objects = objects[:0]
		for i := range values {
			objects = append(objects, object(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"v":`+values[len(values)-1-i]+`}`))
		}
		if err := order.sort(objects); err != nil {
			t.Error(err)
		}
		for i, o := range objects {
			if got := gjson.Get(o.Raw(), "v").Raw; got != values[i] {
				t.Errorf("%q: %s is at %d", values, got, i)
			}
		}
	}
}

// TestTableClusters: of several clusters each name has a colour of its own, and nothing else of a table is other than
// without colours.
func TestTableClusters(t *testing.T) {
	at := time.Date(2026, 1, 31, 9, 0, 0, 0, time.Local)
	object := rowed(t, "Pod", "a", twoColumns, `["a","Running","node-1"]`)
	var events []event.Event
	var objects []event.Object
	for _, cluster := range []string{"prod-eu", "us", "prod-eu", "\x1b[31mred"} {
		e := event.Event{Type: event.Modified, Object: object, Time: at}
		e.Target.Cluster = cluster
		events, objects = append(events, e), append(objects, WithCluster(object, cluster))
	}
	list := func(o Options) string {
		var out bytes.Buffer
		p, err := New(&out, o)
		if err == nil {
			err = p.PrintList(objects)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	plain := Options{Format: "table", Terminal: true, MultiCluster: true}
	colored := plain
	colored.Color = true
	for _, test := range []struct{ plain, colored string }{
		{printed(t, plain, events...), printed(t, colored, events...)},
		{list(plain), list(colored)},
	} {
		if stripped := escapes.ReplaceAllString(test.colored, ""); stripped != test.plain {
			t.Errorf("other than without colours:\n%s\n%s", stripped, test.plain)
		}
		var palette Palette
		if n := strings.Count(test.colored, palette.Paint("prod-eu", "prod-eu")); n != 2 {
			t.Errorf("prod-eu has its colour %d times:\n%s", n, test.colored)
		}
		if !strings.Contains(test.colored, palette.Paint("us", "us")) {
			t.Errorf("us has no colour:\n%s", test.colored)
		}
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")
