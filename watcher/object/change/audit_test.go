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

// manager returns the field manager that the server records for the request.
func (a *audited) manager() string {
	if at, err := url.Parse(a.RequestURI); err == nil && at.Query().Get("fieldManager") != "" {
		return at.Query().Get("fieldManager")
	}
	name, _, _ := strings.Cut(a.UserAgent, "/")
	return name
}

// readAudit returns the audit records by object and the resource version that the request created. The record is nil if
// several clients got the same version as a response, because one of them changed nothing.
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
			continue // the request failed, or its response is not an object
		}
		key := versionKey(a.ObjectRef.Resource, a.ObjectRef.Namespace, a.ObjectRef.Name, a.ResponseObject.Metadata.ResourceVersion)
		if other, there := records[key]; there && (other == nil || other.UserAgent != a.UserAgent) {
			a = nil
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

// verdicts counts how the writers of changes compare with the audit log.
type verdicts struct {
	events, unrecorded, right int
	wrong                     []string
	unknown                   map[string]int // by path
}

func (v *verdicts) compare(c change, a *audited) {
	v.events++
	r := diffObjects(c.old.Object, c.new.Object, Options{Noise: DefaultNoise()})
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

// TestWriterMatchesAuditLog compares the writers of changes with the server's audit log, while several managers write to
// the same objects and controllers roll out workloads.
func TestWriterMatchesAuditLog(t *testing.T) {
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

// writeAll runs all writers concurrently, each of which writes 30 times.
func writeAll(t *testing.T, c *testenv.Cluster) {
	t.Helper()
	var all sync.WaitGroup
	for name, write := range concurrentWrites {
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
	t.Logf("%d events, %d without an audit record; writers of changes: %d right, %d unknown, %d wrong", v.events+v.unrecorded, v.unrecorded, v.right, unknown, len(v.wrong))
	if v.right < 300 {
		t.Error("less than 300 writers were checked")
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
