package chat

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/changes"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

var target = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true), Namespace: "shop"}

func object(data string) event.Object {
	id := &event.Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings", UID: "1", ResourceVersion: "2"}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": "shop"}, "data": map[string]string{"a": data},
	})
	if err != nil {
		panic(err)
	}
	return event.NewObject(id, string(text))
}

// modified returns a change of a ConfigMap.
func modified(from, to string) event.Event {
	return event.Event{Type: event.Modified, Target: target, Object: object(to), Old: object(from), Time: time.Unix(1e9, 0).In(time.FixedZone("", 7200))}
}

func encoded(t *testing.T, o Options, e event.Event) string {
	t.Helper()
	o.View.Compare = change.Options{Noise: change.DefaultNoise(), Masks: &change.Masks{Secrets: true}}
	o.View.ShortName = func(schema.GroupVersionResource) string { return "cm" }
	encode, err := NewEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	body, err := encode([]byte("before"), e)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(body), "before")
}

// TestFormats checks that each format is valid and contains the change, and that hostile or long values are escaped and cut.
func TestFormats(t *testing.T) {
	hostile := []string{"2", "<!channel> & <@U1|x>", "@everyone", "```\n@here", "**bold** [x](javascript:1)", "<script>alert(1)</script>", "\x1b[31m\u202e\x00", strings.Repeat("long ", 20_000), strings.Repeat("line\n", 20_000)}
	for _, form := range Formats() {
		for _, to := range hostile {
			body := encoded(t, Options{Format: form, Cluster: "prod-" + strings.Repeat("eu", 200), View: changes.Options{NoTruncate: true}}, modified("1", to))
			if !strings.HasSuffix(body, "\n") || !strings.Contains(body, "cm/settings") || strings.ContainsAny(body, "\x1b\x00\u202e") || !utf8.ValidString(body) {
				t.Errorf("%s: %.300q", form, body)
			}
			if form == "text" {
				continue
			}
			var message map[string]any
			if err := json.Unmarshal([]byte(body), &message); err != nil || strings.Count(body, "\n") != 1 {
				t.Errorf("%s: %v in %.300s", form, err, body)
			}
			if text, isText := message["text"].(string); form == "slack" && (!isText || strings.ContainsAny(text, "<>") || strings.Count(text, "```") != 2 || utf8.RuneCountInString(text) > 8000) {
				t.Errorf("slack: %.300q", text)
			}
			if content, isText := message["content"].(string); form == "discord" && (!isText || strings.Count(content, "```") != 2 || utf8.RuneCountInString(content) > 2000 || fmt.Sprint(message["allowed_mentions"]) != "map[parse:[]]") {
				t.Errorf("discord: %.300q", message)
			}
			if form == "teams" && (len(body) > 28<<10 || strings.Contains(body, `"TextBlock"`)) {
				t.Errorf("teams: %d bytes, %.300s", len(body), body)
			}
			if text, isText := message["text"].(string); form == "grafana" && (!isText || regexp.MustCompile("<[^/p]|<p[^r]").MatchString(text) || message["time"] != 1e12) {
				t.Errorf("grafana: %.300q", message)
			}
		}
	}
}

// TestClusterName checks that the name of a cluster is text in each format, whatever characters it has.
func TestClusterName(t *testing.T) {
	name := "a\x1b[2J\n@all\u202e\u200b [x](https://example.com)" + strings.Repeat("*", 200)
	for format, want := range map[string]string{
		"slack":   `a\\u001b[2J\\u000a@all\\u202e\\u200b [x](https://example.com)*`,
		"teams":   `a\\u001b[2J\\u000a@all\\u202e\\u200b [x](https://example.com)*`,
		"grafana": `a\\u001b[2J\\u000a@all\\u202e\\u200b [x](https://example.com)*`,
		"discord": `a\\\\u001b\\[2J\\\\u000a@all\\\\u202e\\\\u200b \\[x\\]\\(https://example.com\\)\\*`,
	} {
		body := encoded(t, Options{Format: format, Cluster: name}, modified("1", strings.Repeat("long ", 20_000)))
		if !strings.Contains(body, want) {
			t.Errorf("%s: got %.200s, want %s in it", format, body, want)
		}
		var message struct{ Content string }
		if err := json.Unmarshal([]byte(body), &message); err != nil || utf8.RuneCountInString(message.Content) > 2000 {
			t.Errorf("%s: %v, %d characters", format, err, utf8.RuneCountInString(message.Content))
		}
	}
}

// TestNoMessage checks that events that the change view does not show cause no message.
func TestNoMessage(t *testing.T) {
	for name, e := range map[string]event.Event{
		"noise":   modified("1", "1"),
		"initial": {Type: event.Added, Initial: true, Target: target, Object: object("1"), Time: time.Unix(1e9, 0)},
		"status":  {Type: event.Synced, Target: target, Time: time.Unix(1e9, 0)},
	} {
		if body := encoded(t, Options{Format: "slack"}, e); body != "" && name != "status" {
			t.Errorf("%s: got message %q", name, body)
		}
	}
}

// TestTemplate checks the values and functions of templates, templates that fail, and masked Secrets.
func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		`{"text":{{json .Text}}}`:                      `\{"text":"2001-09-09T\S+ ~ cm/settings  data\.a  1 → 2 .*\\n"\}` + "\n",
		`{{.Kind}} {{.Namespace}}/{{.Name}} {{.Type}}`: "ConfigMap shop/settings MODIFIED\n",
		`{{range .Changes}}{{.Path}}={{.New}} {{end}}`: "data.a=2 \n",
		`{{.Object.data.a}}{{at .Object "a.b"}}`:       "2\n",
		`{{at .Object "metadata.name"}}`:               "settings\n",
		`{{if eq .Name "other"}}said{{end}}`:           "",
		`{{slack "<a&b>"}} {{.Cluster}} {{.Time}}`:     "&lt;a&amp;b&gt; prod 2001-09-09 01:46:40 \\+0000 UTC\n",
	} {
		parsed, err := ParseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := encoded(t, Options{Template: parsed, Cluster: "prod"}, modified("1", "2")); !regexp.MustCompile(`^` + want + `$`).MatchString(got) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	var warned string
	failing, err := ParseTemplate("lost {{(index .Changes 99).Path}}")
	if err != nil {
		t.Fatal(err)
	}
	got := encoded(t, Options{Template: failing, Warn: func(line string) { warned = line }}, modified("1", "2"))
	if !regexp.MustCompile(`(?s)^2001-\S+ ~ cm/settings  data\.a  1 → 2.*\n\(ConfigMap shop/settings: template failed, sent as text: .*index out of range.*\)\n$`).MatchString(got) || !strings.Contains(got, "("+warned+")") {
		t.Errorf("got %q with warning %q, want the lines of the change view and the warning", got, warned)
	}
	for _, wrong := range []string{"{{.Nmae}}", "{{", "{{nope}}", "{{.Changes.Path}}"} {
		if _, err := ParseTemplate(wrong); err == nil {
			t.Errorf("no error for the template %s", wrong)
		}
	}
	secret := event.NewObject(&event.Identity{APIVersion: "v1", Kind: "Secret", Name: "login"}, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"login"},"data":{"password":"aHVudGVyMg=="}}`)
	parsed, err := ParseTemplate("{{json .}}")
	if err != nil {
		t.Fatal(err)
	}
	if got := encoded(t, Options{Template: parsed}, event.Event{Type: event.Added, Target: target, Object: secret, Time: time.Unix(1e9, 0)}); strings.Contains(got, "aHVu") || !strings.Contains(got, "password") {
		t.Errorf("want the masked Secret, got %s", got)
	}
}
