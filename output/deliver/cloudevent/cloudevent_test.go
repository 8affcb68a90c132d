package cloudevent

import "testing"

// TestTypeOf checks the content type for bodies of several formats, including those of templates.
func TestTypeOf(t *testing.T) {
	const json, yaml, text = "application/json", "application/yaml", "text/plain; charset=utf-8"
	for body, want := range map[string]string{
		`{"type":"ADDED","object":{}}` + "\n": json,
		"type: ADDED\ninitial: true\n":        yaml,
		"type: a kind of thing\n":             text,
		"\n {\"text\":\"x\"}\n":               json,
		"[one] changed\n":                     text,
		"{one broken\n":                       text,
		"[1]\n":                               json,
		"Deployment web\n":                    text,
		"one: data.k by kubectl\n":            text,
		"":                                    text,
	} {
		if got := typeOf([]byte(body)); got != want {
			t.Errorf("%q: got %s, want %s", body, got, want)
		}
	}
}
