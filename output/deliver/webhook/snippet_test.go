package webhook

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dwatch/testdata/bed"
)

// TestVerifySnippet runs the code of docs/delivery.md with which a receiver verifies a
// signature.
func TestVerifySnippet(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("the code is Python: %v", err)
	}
	root, err := bed.Root()
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
	for name, test := range map[string]struct {
		secret string
		at     time.Time
		body   string
		want   string
	}{
		"old":     {old, time.Now(), "{}\n", "True"},
		"current": {current, time.Now(), "{}\n", "True"},
		"other":   {"whsec_" + strings.Repeat("A", 32), time.Now(), "{}\n", "False"},
		"altered": {current, time.Now(), "{ }\n", "False"},
		"late":    {current, time.Now().Add(-10 * time.Minute), "{}\n", "False"},
	} {
		header := http.Header{}
		sign(header, secrets, "a.b/7/ADDED", test.at, []byte("{}\n"))
		call := `
import sys
secret, id, at, signature = sys.argv[1:]
print(is_genuine(secret, {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature}, sys.stdin.buffer.read()))
`
		cmd := exec.CommandContext(t.Context(), python, "-c", code+call,
			test.secret, header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature"))
		cmd.Stdin = strings.NewReader(test.body)
		out, err := cmd.CombinedOutput()
		if err != nil || string(bytes.TrimSpace(out)) != test.want {
			t.Errorf("%s: %v %s, want %s", name, err, out, test.want)
		}
	}
}
