package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml/kyaml"

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

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä 漢":           "plain ä 漢",
		"a\nb\tc\x1b[31m\x7f": `a\u000ab\u0009c\u001b[31m\u007f`,
		"csi \u009b31m":       `csi \u009b31m`,
		"\u202ekcab":          `\u202ekcab`,
		"byte \x9b31m":        "byte \ufffd31m",
	} {
		if got := EscapeLine(text); got != want {
			t.Errorf("Line(%q) = %s, want %s", text, got, want)
		}
	}
}

// TestEscape: what is harmless passes as it is, wherever it is cut.
func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"Password: ":                 "Password: ",
		"ä 漢\n\tb\n":                 "ä 漢\n\tb\n",
		"a\r\nb\rc\n":                "a\nb\\u000dc\n",
		"a\x1b[31mb\u009b2Jc\u202ed": `a\u001b[31mb\u009b2Jc\u202ed`,
		"byte \x9b31m\n":             "byte \ufffd31m\n",
		"byte \xe6\n":                "byte \ufffd\n",
	} {
		var whole, cut strings.Builder
		io.WriteString(NewEscapeWriter(&whole), text)
		w := NewEscapeWriter(&cut)
		for i := range len(text) {
			io.WriteString(w, text[i:i+1])
		}
		if whole.String() != want || cut.String() != want {
			t.Errorf("%q is %q, and cut %q, want %q", text, whole.String(), cut.String(), want)
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
