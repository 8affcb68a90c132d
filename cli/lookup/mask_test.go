package lookup

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// TestMask checks that a value is masked however URLs and JSON escape it.
func TestMask(t *testing.T) {
	inJSON := func(value any, escapeHTML bool) string {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(escapeHTML)
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(text.String(), "\n")
	}
	for _, value := range []string{"p@ss=1word", "p@ss!word", `a&b"cdef`, `ends"`, "pässwörd-1", "a b+c%41d", `back\nslash`, "two\nlines", "smile 😀 end"} {
		s := secretValues{}
		s.add(value, "<db/pw>")
		quoted := strings.ReplaceAll(inJSON(value, true), "ä", `\u00e4`)
		once := (&url.URL{Scheme: "postgres", User: url.UserPassword("shop", value), Host: "db"}).String()
		for _, text := range []string{
			value, url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "%21", "!"),
			strings.ToLower(url.QueryEscape(value)), base64.StdEncoding.EncodeToString([]byte(value)),
			inJSON(value, false), quoted, inJSON(quoted, true), inJSON(url.PathEscape(value), true), strings.ReplaceAll(quoted, "😀", `\ud83d\ude00`),
		} {
			if got := s.mask("é " + text + " é"); strings.NewReplacer(`"`, "", `\`, "").Replace(got) != "é <db/pw> é" {
				t.Errorf("value %q in text %q: got %q", value, text, got)
			}
		}
		if got := s.mask(once); got != "postgres://shop:<db/pw>@db" {
			t.Errorf("value %q in a URL: got %q", value, got)
		}
	}
}

// TestMaskParts checks secrets within values, and values that contain others or overlap.
func TestMaskParts(t *testing.T) {
	s := secretValues{}
	s.add(`{"auths":{"r.io":{"username":"u","password":"hunter2secret","auth":"dTpodW50ZXIyc2VjcmV0"}}}`, "<pull/config>")
	s.add("postgres://shop:s%40cret@db.example.com/a", "<db/url>")
	s.add("word", "<db/short>")
	s.add("p@ss-word-ing", "<db/pw>")
	s.add("ingest", "<db/last>")
	for text, want := range map[string]string{
		"login u hunter2secret; auth dTpodW50ZXIyc2VjcmV0": "login u <pull/config>; auth <pull/config>",
		"as shop with s@cret, s%40cret":                    "as shop with <db/url>, <db/url>",
		"p%40ss-word-ing, word":                            "<db/pw>, <db/short>",
		"p@ss-word-ingest":                                 "<db/pw>",
		`100% \u12 %4 \ é %zz`:                             `100% \u12 %4 \ é %zz`,
		"":                                                 "",
	} {
		if got := s.mask(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
