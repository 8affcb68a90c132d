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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

// checkArguments parses a command line as dwatch does.
func checkArguments(t *testing.T, args []string) *watching {
	t.Helper()
	_, r, err := parsed(args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return r.(*watching)
}

// allMetrics is what /metrics has when something has happened of each kind.
func allMetrics(t *testing.T) string {
	t.Helper()
	m := metrics.New(metrics.Options{})
	target := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "events"}, "Event", true)}
	m.Begin([]event.Target{target})
	m.Delivers(func() deliver.Stats { return deliver.Stats{} })
	sink := m.Front(event.SinkFunc(func(context.Context, []event.Event) error { return nil }))
	if err := sink.Deliver(t.Context(), []event.Event{{Type: event.Added, Target: target, Time: time.Unix(1, 0)}}); err != nil {
		t.Fatal(err)
	}
	server, err := metrics.Listen("127.0.0.1:0", m)
	if err != nil {
		t.Fatal(err)
	}
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

// TestOperatingFiles: the files of the page are what they say, and start dwatch with flags
// that go together.
func TestOperatingFiles(t *testing.T) {
	page := readme.Read(t, "docs/operating.md")
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr, For string }
		}
	}
	var deployment appsv1.Deployment
	var claim corev1.PersistentVolumeClaim
	for _, block := range blocks(page, "yaml") {
		var err error
		switch {
		case strings.HasPrefix(block, "apiVersion: apps/v1\n"):
			err = yaml.UnmarshalStrict([]byte(block), &deployment)
		case strings.HasPrefix(block, "apiVersion: v1\n"):
			err = yaml.UnmarshalStrict([]byte(block), &claim)
		case strings.HasPrefix(block, "groups:"):
			err = yaml.Unmarshal([]byte(block), &rules)
		default:
			err = yaml.UnmarshalStrict([]byte(block), &map[string]any{})
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
	if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) != 4 {
		t.Errorf("rules: %+v", rules)
	}
	checkDeployment(t, &deployment)
	checkVolumes(t, &deployment, &claim)
	start := regexp.MustCompile(`(?m)^ExecStart=\S+/dwatch (.*)$`).FindStringSubmatch(strings.Join(blocks(page, "ini"), ""))
	if start == nil {
		t.Fatal("no unit")
	}
	checkArguments(t, strings.Fields(os.Expand(start[1], func(string) string { return "/run" })))
}

// checkDeployment: the pod asks its probes at the port where dwatch listens, and has more
// time to end than dwatch takes.
func checkDeployment(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	pod := d.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("%+v", d)
	}
	c := pod.Containers[0]
	args := c.Args
	o := checkArguments(t, args)
	if o.listen != ":9090" || c.Ports[0].ContainerPort != 9090 {
		t.Errorf("%q, %+v", args, c.Ports)
	}
	for path, probe := range map[string]string{"/healthz": c.LivenessProbe.HTTPGet.Path, "/readyz": c.ReadinessProbe.HTTPGet.Path} {
		if probe != path || c.LivenessProbe.HTTPGet.Port.StrVal != c.Ports[0].Name {
			t.Errorf("%s: %+v", path, c)
		}
	}
	drain := o.to.(*delivery).Drain
	if grace := *pod.TerminationGracePeriodSeconds; float64(grace) <= drain.Seconds() {
		t.Errorf("%d s of grace, and --drain %s", grace, drain)
	}
}

// checkVolumes: what dwatch keeps is on a volume that outlives the pod, and each file that
// it is given is on one.
func checkVolumes(t *testing.T, d *appsv1.Deployment, claim *corev1.PersistentVolumeClaim) {
	t.Helper()
	pod := d.Spec.Template.Spec
	at := func(file string) string {
		for _, m := range pod.Containers[0].VolumeMounts {
			if strings.HasPrefix(file, m.MountPath+"/") {
				return m.Name
			}
		}
		return ""
	}
	kept := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
	if kept < 0 || pod.Volumes[kept].PersistentVolumeClaim.ClaimName != claim.Name || claim.Namespace != d.Namespace {
		t.Fatalf("%+v and %+v", pod.Volumes, claim)
	}
	files := 0
	for _, arg := range pod.Containers[0].Args {
		flag, file, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(file, "/") {
			continue
		}
		files++
		volume := at(file)
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == volume }) {
			t.Errorf("%s is on no volume", arg)
		}
		if written := flag == "--state" || flag == "--dead-letters"; written && volume != pod.Volumes[kept].Name {
			t.Errorf("%s goes with the pod", arg)
		}
	}
	if files < 3 {
		t.Errorf("%d files in %q", files, pod.Containers[0].Args)
	}
}
