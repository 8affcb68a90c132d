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

// TestVerifySnippet runs the code in docs/reference/receivers.md that verifies a signature.
func TestVerifySnippet(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("the code is Python: %v", err)
	}
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "receivers.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(code, "```\n")
	if !found {
		t.Fatal("docs/reference/receivers.md has no code in Python")
	}
	const old, current = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	secrets, err := parseSecrets(old + " " + current)
	if err != nil {
		t.Fatal(err)
	}
	type request struct {
		Secret, Body string
		Header       map[string]string
		at           time.Time
		want         bool
	}
	requests := []*request{
		{Secret: old, at: time.Now(), Body: "{}\n", want: true},
		{Secret: current, at: time.Now(), Body: "{}\n", want: true},
		{Secret: "whsec_" + strings.Repeat("A", 32), at: time.Now(), Body: "{}\n"},
		{Secret: current, at: time.Now(), Body: "{ }\n"},
		{Secret: current, at: time.Now().Add(-10 * time.Minute), Body: "{}\n"},
	}
	for _, r := range requests {
		header := http.Header{}
		sign(header, secrets, "a.b/7/ADDED", r.at, []byte("{}\n"))
		r.Header = map[string]string{}
		for name := range header {
			r.Header[strings.ToLower(name)] = header.Get(name)
		}
	}
	input, err := json.Marshal(requests)
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
	if err := errors.Join(err, json.Unmarshal(out, &genuine)); err != nil || len(genuine) != len(requests) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, r := range requests {
		if genuine[i] != r.want {
			t.Errorf("request %d: genuine %t, want %t", i, genuine[i], r.want)
		}
	}
}
