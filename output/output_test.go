package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"

	"dwatch/output/text"
	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

func object(t *testing.T, text string) event.Object {
	t.Helper()
	return testobject.Parse(t, text)
}

const web = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3,"paused":true,"note":"a<b\u009b","none":null}}`

func printed(t *testing.T, o Options, events ...event.Event) string {
	t.Helper()
	var out bytes.Buffer
	p, err := New(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Deliver(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPrint(t *testing.T) {
	o := object(t, web)
	events := []event.Event{
		{Type: event.Added, Object: o, Initial: true},
		{Type: event.Deleted, Object: o, FinalStateUnknown: true, Time: time.Date(2026, 1, 31, 9, 0, 0, 120_999_999, time.FixedZone("", 3600))},
	}
	compact := `"object":` + web + "}\n"
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"json": {Options{}, `{"type":"ADDED","initial":true,` + compact + `{"type":"DELETED","finalStateUnknown":true,"time":"2026-01-31T08:00:00.120Z",` + compact},
		"name": {Options{Format: "name"}, "deployment.apps/web\ndeployment.apps/web\n"},
		"kyaml": {Options{Format: "kyaml"}, `---
{
  type: "ADDED",
  initial: true,
  object: {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "web",
    },
    spec: {
      none: null,
      note: "a<b\u009b",
      paused: true,
      replicas: 3,
    },
  },
}
---
{
  type: "DELETED",
  finalStateUnknown: true,
  time: "2026-01-31T08:00:00.120Z",
  object: {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "web",
    },
    spec: {
      none: null,
      note: "a<b\u009b",
      paused: true,
      replicas: 3,
    },
  },
}
`},
		"yaml": {Options{Format: "yaml"}, `type: ADDED
initial: true
object:
  apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
  spec:
    none: null
    note: "a<b\x9B"
    paused: true
    replicas: 3
---
type: DELETED
finalStateUnknown: true
time: "2026-01-31T08:00:00.120Z"
object:
  apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
  spec:
    none: null
    note: "a<b\x9B"
    paused: true
    replicas: 3
`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, printed(t, test.options, events...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrintAtTerminal(t *testing.T) {
	got := printed(t, Options{Terminal: true}, event.Event{Type: event.Added, Object: object(t, web)})
	want := `{
    "type": "ADDED",
    "object": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web"
        },
        "spec": {
            "replicas": 3,
            "paused": true,
            "note": "a<b\u009b",
            "none": null
        }
    }
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestColor: colour is put around the text and changes none of it.
func TestColor(t *testing.T) {
	event := event.Event{Type: event.Added, Object: object(t, web)}
	for _, terminal := range []bool{false, true} {
		plain := printed(t, Options{Terminal: terminal}, event)
		colored := printed(t, Options{Terminal: terminal, Color: true}, event)
		for _, want := range []string{"\x1b[34;1m\"replicas\"\x1b[0m", "\x1b[33m3\x1b[0m", "\x1b[36mtrue\x1b[0m", "\x1b[32m\"web\"\x1b[0m", "\x1b[90mnull\x1b[0m"} {
			if !strings.Contains(colored, want) {
				t.Errorf("%q is missing in %q", want, colored)
			}
		}
		for _, style := range [][2]string{palette.Key, palette.String, palette.Escape, palette.Number, palette.True, palette.Null} {
			colored = strings.ReplaceAll(strings.ReplaceAll(colored, style[0], ""), style[1], "")
		}
		if diff := cmp.Diff(plain, colored); diff != "" {
			t.Errorf("terminal %v: %s", terminal, diff)
		}
	}
}

// TestList: the shape does not depend on the number of objects.
func TestList(t *testing.T) {
	one := object(t, web)
	for _, objects := range [][]event.Object{nil, {one}, {one, one}} {
		for _, o := range []Options{{}, {Terminal: true}, {Format: "yaml"}, {Format: "kyaml"}} {
			var out bytes.Buffer
			p, err := New(&out, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.PrintList(objects); err != nil {
				t.Fatal(err)
			}
			if o.Format == "" {
				checkJSONList(t, out.Bytes(), len(objects))
			} else if o.Format == "kyaml" {
				checkKYAMLList(t, out.Bytes(), o, objects)
			} else if want := yamlList(len(objects)); out.String() != want {
				t.Error(cmp.Diff(want, out.String()))
			}
		}
	}
}

// checkJSONList: a List as encoding/json would indent it, as kubectl prints it.
func checkJSONList(t *testing.T, text []byte, n int) {
	t.Helper()
	var list struct {
		APIVersion string            `json:"apiVersion"`
		Items      []json.RawMessage `json:"items"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if list.Kind != "List" || list.APIVersion != "v1" || list.Items == nil || len(list.Items) != n {
		t.Errorf("not a List of %d: %s", n, text)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", indent); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(indented.String(), string(text)); diff != "" {
		t.Error(diff)
	}
}

// checkKYAMLList: a List as the library would print it at once.
func checkKYAMLList(t *testing.T, text []byte, o Options, objects []event.Object) {
	t.Helper()
	list, err := o.openList(objects)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	plain = bytes.ReplaceAll(plain, []byte("\u009b"), []byte(`\u009b`)) // which the library does not take
	var want bytes.Buffer
	if err := new(kyaml.Encoder).FromYAML(bytes.NewReader(plain), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(text)); diff != "" {
		t.Error(diff)
	}
}

func yamlList(n int) string {
	items := "items: []\n"
	if n > 0 {
		items = "items:\n" + strings.Repeat(`- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
  spec:
    none: null
    note: "a<b\x9B"
    paused: true
    replicas: 3
`, n)
	}
	return "apiVersion: v1\n" + items + "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
}

// TestUnsafeAtTerminal checks that no format prints an unsafe character to a terminal, and that JSON, YAML and KYAML still
// mean the same.
func TestUnsafeAtTerminal(t *testing.T) {
	const unsafe = "a\u202eb\u2066c\u200bd\u009b2J\u2028\ufe0f\U000e0041 \\x80uu202e \u0080u"
	content, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"},
		"data": map[string]any{"k": unsafe, unsafe: "v", "lines": "x\u200b\ny\n", "list": []any{unsafe}, "plain": "⚠\ufe0f ä 漢"},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := object(t, string(content))
	for _, format := range []string{"json", "yaml", "kyaml"} {
		for _, single := range []bool{false, true} {
			var list bytes.Buffer
			p, err := New(&list, Options{Format: format, Terminal: true, SingleObject: single})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.PrintList([]event.Object{o}); err != nil {
				t.Fatal(err)
			}
			for _, got := range []string{list.String(), printed(t, Options{Format: format, Terminal: true}, event.Event{Type: event.Added, Object: o})} {
				if text.Lines(got) != got {
					t.Errorf("-o %s prints an unsafe character: %q", format, got)
				}
				var decoded any
				decode := func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
				if format == "json" {
					decode = json.Unmarshal
				}
				if err := decode([]byte(strings.TrimPrefix(got, "---\n")), &decoded); err != nil {
					t.Errorf("-o %s: %v in %s", format, err, got)
				}
				if all := fmt.Sprintf("%q", fmt.Sprint(decoded)); strings.Count(all, strings.Trim(fmt.Sprintf("%q", unsafe), `"`)) != 3 || !strings.Contains(all, `x\u200b\ny\n`) || !strings.Contains(got, "⚠\ufe0f ä 漢") {
					t.Errorf("-o %s has other values: %s", format, all)
				}
			}
		}
	}
}

// TestNameIsOneLine: some names may hold anything but a slash.
func TestNameIsOneLine(t *testing.T) {
	role := object(t, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a\nrole/b\u001b]0;x"}}`)
	got := printed(t, Options{Format: "name"}, event.Event{Type: event.Added, Object: role})
	if want := "clusterrole.rbac.authorization.k8s.io/a\\u000arole/b\\u001b]0;x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

type counting struct {
	calls int
	err   error
}

func (c *counting) Write(p []byte) (int, error) { c.calls++; return len(p), c.err }

// TestWrites: a batch is one write where it is small, and is not held back.
func TestWrites(t *testing.T) {
	w := &counting{}
	p, err := New(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := event.Event{Type: event.Added, Object: object(t, web)}
	for batch := 1; batch < 4; batch++ {
		if err := p.Deliver(t.Context(), slices.Repeat([]event.Event{e}, batch)); err != nil || w.calls != batch {
			t.Errorf("%d writes after %d batches, error %v", w.calls, batch, err)
		}
	}
}

// TestWriteError: an error of the writer comes back, now and later.
func TestWriteError(t *testing.T) {
	full := errors.New("disk full")
	p, err := New(&counting{err: full}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Deliver(t.Context(), []event.Event{{Type: event.Added, Object: object(t, web)}}); !errors.Is(err, full) {
			t.Errorf("Deliver: %v", err)
		}
	}
	if err := p.PrintList(nil); !errors.Is(err, full) {
		t.Errorf("List: %v", err)
	}
}

func TestUnknownFormat(t *testing.T) {
	want := `unable to match a printer suitable for the output format "xml", allowed formats are: json, yaml, kyaml, name, table, wide, none`
	_, err := New(io.Discard, Options{Format: "xml"})
	for _, err := range []error{err, CheckFormat("xml", Formats)} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, name := range Formats {
		if err := CheckFormat(name, Formats); err != nil {
			t.Error(err)
		}
	}
}
