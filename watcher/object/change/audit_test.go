package change

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/testdata/testenv"
)

// audited is a record of the audit log of an API server.
type audited struct {
	Verb, UserAgent, RequestURI string
	ObjectRef                   struct{ Resource, Namespace, Name, Subresource string }
	ResponseObject              struct {
		Metadata struct{ Name, ResourceVersion string }
	}
}

// manager returns the name under which the server manages what was written.
func (a *audited) manager() string {
	if at, err := url.Parse(a.RequestURI); err == nil && at.Query().Get("fieldManager") != "" {
		return at.Query().Get("fieldManager")
	}
	name, _, _ := strings.Cut(a.UserAgent, "/")
	return name
}

// readAudit returns the records by resource, object and the version that was made.
// What was written by more than one is not there.
func readAudit(t *testing.T, path string) map[string]*audited {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records := map[string]*audited{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		a := &audited{}
		if err := json.Unmarshal(lines.Bytes(), a); err != nil {
			t.Fatal(err)
		}
		if a.ResponseObject.Metadata.ResourceVersion == "" {
			continue // a failure, or it answers with something else
		}
		key := versionKey(a.ObjectRef.Resource, a.ObjectRef.Namespace, a.ObjectRef.Name, a.ResponseObject.Metadata.ResourceVersion)
		if other, there := records[key]; there && (other == nil || other.UserAgent != a.UserAgent) {
			a = nil // one of them changed nothing
		}
		records[key] = a
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return records
}

func versionKey(resource, namespace, name, version string) string {
	return strings.Join([]string{resource, namespace, name, version}, "|")
}

// verdicts counts how who did it compares with the audit log.
type verdicts struct {
	events, unrecorded, right int
	wrong                     []string
	unknown                   map[string]int // by path
}

func (v *verdicts) compare(c change, a *audited) {
	v.events++
	r := compared(c.old.Object, c.new.Object, Options{Noise: DefaultNoise()})
	for _, d := range r.Changes {
		isApply := strings.Contains(d.Writer.Operation, "Apply")
		switch {
		case !d.Writer.IsKnown():
			v.unknown[string(d.Kind)+" "+brackets.ReplaceAllString(d.Path.String(), "[]")]++
		case d.Writer.Manager != a.manager() || d.Writer.Subresource != a.ObjectRef.Subresource || isApply != strings.HasPrefix(a.manager(), "applier"):
			v.wrong = append(v.wrong, fmt.Sprintf("%s %s %s %s %s: %+v, but %s %s by %s", c.resource.Resource, c.new.GetName(), c.new.GetResourceVersion(),
				d.Kind, d.Path, d.Writer, a.Verb, a.ObjectRef.Subresource, a.manager()))
		default:
			v.right++
		}
	}
}

var brackets = regexp.MustCompile(`\[[^\]]*\]`)

// TestWhoAudit compares who did it with the audit log of the server, while several
// managers write to the same objects at once, and controllers roll out.
func TestWhoAudit(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	policy, err := filepath.Abs("testdata/audit.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, "--controllers", "--apiserver-arg", "audit-policy-file="+policy, "--apiserver-arg", "audit-log-path="+log)
	if _, err := c.Run("apply", "testdata/objects.yaml", "testdata/rollout.yaml"); err != nil {
		t.Fatal(err)
	}
	r := record(t, client(t, c, "watcher"), deployments, replicaSets, statefulSets, pods, configMaps, services, things)
	writeAll(t, c)
	r.await(t, "the last write", func(last objects) bool {
		m := last["configmaps/lists/shared"]
		return m != nil && m.GetAnnotations()["patcher"] == "29"
	})
	changes := r.all()
	r.stop()
	records := readAudit(t, log)
	v := verdicts{unknown: map[string]int{}}
	for _, c := range changes {
		if a := records[versionKey(c.resource.Resource, c.new.GetNamespace(), c.new.GetName(), c.new.GetResourceVersion())]; a != nil {
			v.compare(c, a)
		} else {
			v.unrecorded++
		}
	}
	v.report(t)
}

// writeAll lets all managers write, each 30 times.
func writeAll(t *testing.T, c *testenv.Cluster) {
	t.Helper()
	var all sync.WaitGroup
	for name, write := range writing {
		w := writer{t.Context(), client(t, c, name+"/v1 (test)"), name}
		all.Go(func() {
			for i := range 30 {
				if err := write(w, i); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func (v *verdicts) report(t *testing.T) {
	t.Helper()
	for _, wrong := range v.wrong {
		t.Error(wrong)
	}
	unknown := 0
	for _, path := range slices.Sorted(maps.Keys(v.unknown)) {
		t.Logf("unknown: %3d %s", v.unknown[path], path)
		unknown += v.unknown[path]
	}
	t.Logf("%d events, %d without a record; of their changes %d are right, %d unknown, %d wrong", v.events+v.unrecorded, v.unrecorded, v.right, unknown, len(v.wrong))
	if v.right < 300 {
		t.Error("these are too few to prove anything")
	}
}

var (
	deployments  = gvr("apps", "v1", "deployments")
	replicaSets  = gvr("apps", "v1", "replicasets")
	statefulSets = gvr("apps", "v1", "statefulsets")
	daemonSets   = gvr("apps", "v1", "daemonsets")
	jobs         = gvr("batch", "v1", "jobs")
	pods         = gvr("", "v1", "pods")
	configMaps   = gvr("", "v1", "configmaps")
	services     = gvr("", "v1", "services")
	things       = gvr("change.example.com", "v1", "things")
)

func gvr(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}
