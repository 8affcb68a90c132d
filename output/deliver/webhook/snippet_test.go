package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dwatch/testdata/testenv"
)

// TestVerifySnippet runs the code of docs/delivery.md with which a receiver verifies a
// signature.
func TestVerifySnippet(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("the code is Python: %v", err)
	}
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "delivery.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(code, "```\n")
	if !found {
		t.Fatal("docs/delivery.md has no code in Python")
	}
	const old, current = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	secrets, err := parseSecrets(old + " " + current)
	if err != nil {
		t.Fatal(err)
	}
	type try struct {
		Secret, Body string
		Header       map[string]string
		at           time.Time
		want         bool
	}
	tries := []*try{
		{Secret: old, at: time.Now(), Body: "{}\n", want: true},
		{Secret: current, at: time.Now(), Body: "{}\n", want: true},
		{Secret: "whsec_" + strings.Repeat("A", 32), at: time.Now(), Body: "{}\n"},
		{Secret: current, at: time.Now(), Body: "{ }\n"},
		{Secret: current, at: time.Now().Add(-10 * time.Minute), Body: "{}\n"},
	}
	for _, try := range tries {
		header := http.Header{}
		sign(header, secrets, "a.b/7/ADDED", try.at, []byte("{}\n"))
		try.Header = map[string]string{}
		for name := range header {
			try.Header[strings.ToLower(name)] = header.Get(name)
		}
	}
	input, err := json.Marshal(tries)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", code+`
import json, sys
print(json.dumps([is_genuine(t["Secret"], t["Header"], t["Body"].encode()) for t in json.load(sys.stdin)]))
`)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	var genuine []bool
	if err := errors.Join(err, json.Unmarshal(out, &genuine)); err != nil || len(genuine) != len(tries) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, try := range tries {
		if genuine[i] != try.want {
			t.Errorf("%d: %t, want %t", i, genuine[i], try.want)
		}
	}
}
