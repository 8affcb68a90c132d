package output

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

func template(t *testing.T, format, text string) Options {
	t.Helper()
	parsed, err := ParseTemplate(TemplateSource{Format: format, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Format: format, Template: parsed}
}

// A template is filled with each object as with the first, and a mark with its JSON.
func TestTemplates(t *testing.T) {
	at := time.Date(2026, 1, 31, 9, 0, 0, 0, time.Local)
	o := object(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"size":9007199254740993}}`)
	events := []event.Event{
		{Type: event.Added, Object: o, Time: at},
		{Type: event.Modified, Object: o, Time: at},
		{Type: event.Synced, Count: 3, Time: at},
	}
	for _, test := range []struct{ format, text, want string }{
		{"jsonpath", `{range .spec.containers[*]}{.name},{end}{.count}`, "a,b,\na,b,\n3\n"},
		{"jsonpath", `{.spec.size}{"\n"}`, "9007199254740993\n9007199254740993\n\n"},
		{"jsonpath", `{.nothing}`, ""},
		{"go-template", `{{.kind}} {{.type}}`, "Pod <no value>\nPod <no value>\n<no value> SYNCED\n"},
		{"custom-columns", `NAME:.metadata.name,ALL:spec.containers[*].name`, "" +
			"EVENT       TIME        NAME    ALL\n" +
			"ADDED       09:00:00    web     a,b\n" +
			"MODIFIED    09:00:00    web     a,b\n" +
			"SYNCED      09:00:00    <none>  <none>\n"},
	} {
		got := printed(t, template(t, test.format, test.text), events...)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(test.want), " ") || test.format != "custom-columns" && got != test.want {
			t.Errorf("%s %s: %q", test.format, test.text, got)
		}
	}
}

// At a terminal nothing that a template prints can steer it.
func TestTemplateAtTerminal(t *testing.T) {
	o := object(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"v":"a\tb\u001b[2J\u009b\u202e\nc"}`)
	for format, text := range map[string]string{"jsonpath": "{.v}", "go-template": "{{.v}}", "custom-columns": "V:.v"} {
		options := template(t, format, text)
		options.Terminal = true
		var list bytes.Buffer
		p, err := New(&list, options)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.PrintList([]event.Object{o}); err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{printed(t, options, event.Event{Type: event.Added, Object: o}), list.String()} {
			if strings.ContainsAny(got, "\x1b\u009b\u202e") {
				t.Errorf("%s: %q", format, got)
			}
		}
	}
}

// RelaxedPath takes what kubectl takes.
func TestRelaxedPath(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"a.b":              "{.a.b}",
		".a.b":             "{.a.b}",
		"{a.b}":            "{.a.b}",
		"{.a.b}":           "{.a.b}",
		".":                "{..}",
		"{.}":              "{..}",
		"..a":              "{..a}",
		`a[?(@.b=="c")].d`: `{.a[?(@.b=="c")].d}`,
	} {
		if got, err := NormalizeJSONPath(text); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"{", "}", "{}", "{a", "a}", "{a}{b}", "a{b}c"} {
		if got, err := NormalizeJSONPath(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}
