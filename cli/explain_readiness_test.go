package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/cli/lookup"
	testobject "dwatch/testdata/object"
)

// TestExplainState checks what is printed about a condition that makes an object fail if it stays False.
func TestExplainState(t *testing.T) {
	began := time.Now().Add(-time.Minute).UTC()
	o := testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Gauge","metadata":{"name":"a","namespace":"shop","generation":1,"creationTimestamp":"2026-01-31T09:00:00Z"},`+
		`"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":%q}]}}`, began.Format(time.RFC3339)))
	text, err := explainState(o, func() []lookup.PrinterColumn { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Object:      shop/a (Gauge.example.com)\n", "State:       InProgress\n", "Why:         Ready is False\n", "Decided by:  condition Ready\n",
		"Fails:       at " + began.Add(time.Hour).Format(time.RFC3339) + ", if nothing changes until then\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
