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

// operatingPages are the pages about running dwatch permanently.
var operatingPages = []string{
	"docs/reference/clusters.md", "docs/reference/environment-and-files.md", "docs/reference/manifests.md", "docs/reference/metrics.md",
	"docs/reference/permissions.md", "docs/reference/replicas-and-shards.md", "docs/tasks/monitor-dwatch.md", "docs/tasks/run-as-a-systemd-service.md",
	"docs/tasks/run-in-a-cluster.md", "docs/tasks/run-two-replicas.md", "docs/tasks/upgrade.md", "docs/tasks/work-behind-a-proxy.md",
}

// TestOperatingMetrics checks that the table of metrics has all metrics of dwatch, with their labels, and no others, and that the
// pages and the alerts in them name no other metrics.
func TestOperatingMetrics(t *testing.T) {
	text := allMetrics(t)
	var there, named []string
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (dwatch_\w+) `).FindAllStringSubmatch(text, -1) {
		there = append(there, match[1])
	}
	for _, match := range regexp.MustCompile("(?m)^\\| `(dwatch_\\w+)(?:\\{([a-z,]+)\\})?` \\|").FindAllStringSubmatch(readme.Read(t, "docs/reference/metrics.md"), -1) {
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
	for _, page := range operatingPages {
		for _, name := range regexp.MustCompile(`dwatch_\w+`).FindAllString(readme.Read(t, page), -1) {
			if !slices.Contains(there, name) {
				t.Errorf("%s: there is no metric %s", page, name)
			}
		}
	}
}

// TestOperatingAlerts checks that one page lists when each alert of dwatch manifests fires, and another one what to do, and that they
// list no other alerts.
func TestOperatingAlerts(t *testing.T) {
	text, err := os.ReadFile("manifest/chart/templates/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := func(text, pattern string) (found []string) {
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, match[1])
		}
		slices.Sort(found)
		return found
	}
	alerts := names(string(text), `- alert: (\w+)`)
	for _, page := range []string{"docs/reference/metrics.md", "docs/tasks/monitor-dwatch.md"} {
		if listed := names(readme.Read(t, page), "(?m)^\\| `(Dwatch\\w+)` \\|"); len(alerts) == 0 || !slices.Equal(alerts, listed) {
			t.Errorf("alerts are %q, and %s has %q", alerts, page, listed)
		}
	}
}

// TestOperatingFiles checks that the YAML in the pages is valid, and that the systemd unit starts dwatch with valid flags.
func TestOperatingFiles(t *testing.T) {
	count := 0
	for _, page := range operatingPages {
		for _, block := range blocks(readme.Read(t, page), "yaml") {
			count++
			if err := yaml.UnmarshalStrict([]byte(block), &map[string]any{}); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, block)
			}
		}
	}
	if count == 0 {
		t.Error("the pages have no YAML")
	}
	units := blocks(readme.Read(t, "docs/tasks/run-as-a-systemd-service.md"), "ini")
	start := regexp.MustCompile(`(?m)^ExecStart=\S+/dwatch (.*)$`).FindStringSubmatch(strings.Join(units, ""))
	if len(units) != 1 || start == nil {
		t.Fatal("no unit")
	}
	checkArguments(t, strings.Fields(os.Expand(start[1], func(string) string { return "/run" })))
}
