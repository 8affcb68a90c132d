package text

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            "",
		"plain ä 漢 \u00a0":            "plain ä 漢 \u00a0",
		"a\nb\tc\x1b[31m\x7f":         `a\u000ab\u0009c\u001b[31m\u007f`,
		"csi \u009b31m":               `csi \u009b31m`,
		"\u202ekcab\u2066":            `\u202ekcab\u2066`,
		"byte \x9b31m":                "byte \ufffd31m",
		"line\u2028paragraph\u2029":   `line\u2028paragraph\u2029`,
		"we\u200bb\u200c\u200d\ufeff": `we\u200bb\u200c\u200d\ufeff`,
		"so\u00adft \u2060\u180e\u034f\u3164\uffa0": `so\u00adft \u2060\u180e\u034f\u3164\uffa0`,
		"tag \U000e0041 \U000e0100":                 `tag \U000e0041 \U000e0100`,
		"web\ufe0f ⚠\ufe0f \ufe00":                  `web\ufe0f ⚠` + "\ufe0f" + ` \ufe00`,
		"؀١":                                        "؀١", // a visible format character
		"👨\u200d👩🏽\u200d👧 ❤\ufe0f\u200d🔥":           "👨\u200d👩🏽\u200d👧 ❤\ufe0f\u200d🔥",
		"a\ufe0f\u200db ^\u200d":                    `a\ufe0f\u200db ^\u200d`,
		"👍🏽 é e\u0301":                              "👍🏽 é e\u0301",
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q): got %s, want %s", text, got, want)
		}
		if got, want := Lines(text), strings.NewReplacer(`\u000a`, "\n", `\u0009`, "\t").Replace(want); got != want {
			t.Errorf("Lines(%q): got %q, want %q", text, got, want)
		}
	}
	if got, want := Lines("a\r\nb\rc"), "a\nb\\u000dc"; got != want {
		t.Errorf("Lines: got %q, want %q", got, want)
	}
}

// TestJSON checks that the escapes do not change what a JSON text means.
func TestJSON(t *testing.T) {
	t.Parallel()
	const text = "{\n  \"a\u202e\": \"\u009b \u200b \U000e0041 ä 漢\"\n}"
	escaped := JSON(text)
	if want := "{\n  \"a\\u202e\": \"\\u009b \\u200b \\udb40\\udc41 ä 漢\"\n}"; escaped != want {
		t.Errorf("got %s, want %s", escaped, want)
	}
	var got, want map[string]string
	if err := json.Unmarshal([]byte(escaped), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if got["a\u202e"] != want["a\u202e"] {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWriter checks that the result does not depend on how the text is divided.
func TestWriter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Password: ":                 "Password: ",
		"ä 漢\n\tb\n":                 "ä 漢\n\tb\n",
		"a\r\nb\rc\n":                "a\nb\\u000dc\n",
		"a\x1b[31mb\u009b2Jc\u202ed": `a\u001b[31mb\u009b2Jc\u202ed`,
		"byte \x9b31m\n":             "byte \ufffd31m\n",
		"byte \xe6\n":                "byte \ufffd\n",
		"⚠\ufe0f a\ufe0f":            "⚠\ufe0f a\\ufe0f",
	} {
		var whole, divided strings.Builder
		io.WriteString(NewWriter(&whole), text)
		w := NewWriter(&divided)
		for i := range len(text) {
			io.WriteString(w, text[i:i+1])
		}
		if whole.String() != want || divided.String() != want {
			t.Errorf("%q: got %q, and divided %q, want %q", text, whole.String(), divided.String(), want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b\u202e\u200b⚠\ufe0f")
	f.Fuzz(func(t *testing.T, text string) {
		line := Line(text)
		if strings.ContainsFunc(strings.NewReplacer(string(emojiForm), "", string(emojiJoiner), "").Replace(line), IsUnsafe) {
			t.Errorf("Line(%q) is %q", text, line)
		}
		if again := Line(line); again != line {
			t.Errorf("Line(%q) is %q, and escaped again %q", text, line, again)
		}
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 pods", 1: "1 pod", 2: "2 pods"} {
		if got := Count(n, "pod"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
