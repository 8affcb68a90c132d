package cli

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/metrics"
	"dwatch/output/deliver"
	"dwatch/testdata/readme"
	"dwatch/watcher/event"
)

// blocks returns what a page has as code in a language.
func blocks(page, language string) (found []string) {
	for _, match := range regexp.MustCompile("(?m)^```"+language+"\n((?:.*\n)*?)^```$").FindAllStringSubmatch(page, -1) {
		found = append(found, match[1])
	}
	return found
}

// checkArguments parses a command line of a run as dwatch does.
func checkArguments(t *testing.T, args []string) *watchTask {
	t.Helper()
	_, r, err := parsed(args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return r.(*watchTask)
}

// allMetrics is what /metrics has when something has happened of each kind.
func allMetrics(t *testing.T) string {
	t.Helper()
	m := metrics.New(metrics.Options{Verify: true})
	target := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "events"}, "Event", true)}
	m.Begin([]event.Target{target})
	m.AddCluster("eu")
	m.SetDeliveryStats(func() deliver.Stats { return deliver.Stats{} })
	m.SetSettleStats(func() (changes, objects int) { return 3, 2 })
	sink := m.InputStage(event.SinkFunc(func(context.Context, []event.Event) error { return nil }))
	if err := sink.Deliver(t.Context(), []event.Event{{Type: event.Added, Target: target, Time: time.Unix(1, 0)}}); err != nil {
		t.Fatal(err)
	}
	server, err := metrics.Listen("127.0.0.1:0", m)
	if err != nil {
		t.Fatal(err)
	}
	ofRules, err := metrics.ListenRules("127.0.0.1:0", "", new(metrics.Rules))
	if err != nil {
		t.Fatal(err)
	}
	replica, err := metrics.ListenReplica("127.0.0.1:0", "", new(metrics.Replica))
	if err != nil {
		t.Fatal(err)
	}
	return metricsOf(t, server) + metricsOf(t, ofRules) + metricsOf(t, replica)
}

func metricsOf(t *testing.T, server *metrics.Server) string {
	t.Helper()
	defer server.Close()
	response, err := http.Get(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%s, %v", response.Status, err)
	}
	return string(text)
}

// TestOperatingMetrics: the table and the alerts of the page name metrics that are there,
// with their labels, and the table has all of ours.
func TestOperatingMetrics(t *testing.T) {
	page, text := readme.Read(t, "docs/operating.md"), allMetrics(t)
	var there, named []string
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (dwatch_\w+) `).FindAllStringSubmatch(text, -1) {
		there = append(there, match[1])
	}
	for _, match := range regexp.MustCompile("(?m)^\\| `(dwatch_\\w+)(?:\\{([a-z,]+)\\})?` \\|").FindAllStringSubmatch(page, -1) {
		named = append(named, match[1])
		for label := range strings.SplitSeq(match[2], ",") {
			if sample := regexp.MustCompile(`(?m)^` + match[1] + `\{.*\b` + label + `="`); label != "" && !sample.MatchString(text) {
				t.Errorf("%s has no label %s", match[1], label)
			}
		}
	}
	slices.Sort(there)
	there = slices.Compact(there)
	slices.Sort(named)
	if !slices.Equal(there, named) {
		t.Errorf("the table has %q, and there are %q", named, there)
	}
	for _, name := range regexp.MustCompile(`dwatch_\w+`).FindAllString(page, -1) {
		if !slices.Contains(there, name) {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// TestOperatingAlerts: the page says of each alert that dwatch manifests prints what to do, and of no other.
func TestOperatingAlerts(t *testing.T) {
	text, err := os.ReadFile("manifest/chart/templates/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sets [2][]string
	for i, found := range [][][]string{
		regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(text), -1),
		regexp.MustCompile("(?m)^\\| `(Dwatch\\w+)` \\|").FindAllStringSubmatch(readme.Read(t, "docs/operating.md"), -1),
	} {
		for _, match := range found {
			sets[i] = append(sets[i], match[1])
		}
		slices.Sort(sets[i])
	}
	if len(sets[0]) == 0 || !slices.Equal(sets[0], sets[1]) {
		t.Errorf("alerts are %q, and the page has %q", sets[0], sets[1])
	}
}

// TestOperatingFiles: the files in docs/operating.md are valid, and start dwatch with valid flags.
func TestOperatingFiles(t *testing.T) {
	page := readme.Read(t, "docs/operating.md")
	for _, block := range blocks(page, "yaml") {
		if err := yaml.UnmarshalStrict([]byte(block), &map[string]any{}); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
	start := regexp.MustCompile(`(?m)^ExecStart=\S+/dwatch (.*)$`).FindStringSubmatch(strings.Join(blocks(page, "ini"), ""))
	if start == nil {
		t.Fatal("no unit")
	}
	checkArguments(t, strings.Fields(os.Expand(start[1], func(string) string { return "/run" })))
}
