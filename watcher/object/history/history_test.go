package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/history"
)

// clock returns a time in the format of objects.
func clock(minute int) string { return fmt.Sprintf("2026-01-31T09:%02d:00Z", minute) }

func object(t *testing.T, text string) event.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return event.NewObject(&event.Identity{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: "7",
	}, text)
}

func targetOf(o event.Object) event.Target {
	kind := o.GroupVersionKind()
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"}
	return event.Target{Mapping: event.NewMapping(resource, kind.Kind, true)}
}

// reconstruct returns the events that objects show, one line each.
func reconstruct(t *testing.T, within history.TimeRange, texts ...string) (lines []string) {
	t.Helper()
	h := history.History{TimeRange: within}
	for _, text := range texts {
		o := object(t, text)
		h.Add(targetOf(o), o)
	}
	for _, e := range h.Events() {
		lines = append(lines, line(t, e))
	}
	for _, e := range h.Undated() {
		lines = append(lines, "undated: "+line(t, e))
	}
	return lines
}

func line(t *testing.T, e event.Event) string {
	t.Helper()
	r := e.Reconstructed
	text := fmt.Sprintf("%s %s %s %s", e.Time.Format("04:05"), r.From, e.Type, e.Object.Name)
	for _, w := range r.Writers {
		text += " " + strings.TrimSuffix(w.Manager+"/"+w.Subresource, "/")
	}
	if r.Conclusive {
		text += " alone"
	}
	before := r.Base
	if r.From == event.FromRevision {
		before = e.Old
	}
	if !before.IsZero() {
		for _, c := range change.Diff(before.Raw(), e.Object.Raw(), change.Options{Noise: change.DefaultNoise()}).Changes {
			text += fmt.Sprintf(" %s=%v", c.Path, c.New)
			if c.Writer.IsKnown() {
				text += "(" + c.Writer.Manager + ")"
			}
		}
	}
	if e.Object.ResourceVersion != "" && r.From != event.FromEvent {
		t.Errorf("%s: the event has the resourceVersion of a later state", text)
	}
	return text
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// settings returns a ConfigMap with managed fields. An entry contains the manager, the time (or an empty string) and the
// field that it owns.
func settings(version string, entries ...[3]string) string {
	var managed []string
	for _, e := range entries {
		name, subresource, _ := strings.Cut(e[0], "/")
		managed = append(managed, fmt.Sprintf(`{"manager":%q,"operation":"Update","apiVersion":%q,"time":%q,"subresource":%q,"fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:%s":{}}}}`, name, version, e[1], subresource, e[2]))
	}
	text := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop","uid":"1","resourceVersion":"7","creationTimestamp":"` + clock(10) +
		`","managedFields":[` + strings.Join(managed, ",") + `]},"data":{"a":"1","b":"2"}}`
	return strings.ReplaceAll(text, `"time":"",`, "")
}

func TestWrites(t *testing.T) {
	check(t, reconstruct(t, history.TimeRange{}, settings("v1", [3]string{"alice", clock(10), "a"}, [3]string{"bob", clock(20), "b"})),
		"10:00 creationTimestamp ADDED settings alice", "20:00 managedFields MODIFIED settings bob data.b=2")
	// Writes before the creation and placeholder managers are ignored. A write in another API version has no fields.
	check(t, reconstruct(t, history.TimeRange{}, settings("v1", [3]string{"restored", clock(5), "a"}, [3]string{"ancient-changes", clock(20), "a"}, [3]string{"before-first-apply", clock(20), "a"})),
		"10:00 creationTimestamp ADDED settings")
	check(t, reconstruct(t, history.TimeRange{}, settings("v2", [3]string{"bob", clock(20), "a"})),
		"10:00 creationTimestamp ADDED settings", "20:00 managedFields MODIFIED settings bob")
	// A write through a subresource in the second of the creation was made after it.
	check(t, reconstruct(t, history.TimeRange{}, settings("v1", [3]string{"alice", clock(10), "a"}, [3]string{"kubelet/status", clock(10), "b"})),
		"10:00 creationTimestamp ADDED settings alice alone")
	// A field that no longer exists.
	check(t, reconstruct(t, history.TimeRange{}, settings("v1", [3]string{"bob", clock(20), "gone"})),
		"10:00 creationTimestamp ADDED settings", "20:00 managedFields MODIFIED settings bob")
	check(t, reconstruct(t, history.TimeRange{}, settings("v1", [3]string{"kubectl/scale", "", "a"}, [3]string{"bob", clock(20), "b"})),
		"10:00 creationTimestamp ADDED settings", "20:00 managedFields MODIFIED settings bob data.b=2", "undated: 00:00 managedFields MODIFIED settings kubectl/scale data.a=1")
}

func TestTimeRange(t *testing.T) {
	at := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	text := settings("v1", [3]string{"bob", clock(20), "b"})
	const created, wrote = "10:00 creationTimestamp ADDED settings", "20:00 managedFields MODIFIED settings bob data.b=2"
	check(t, reconstruct(t, history.TimeRange{Since: at("2026-01-31T09:10:00.9Z")}, text), created, wrote) // the creation may have been after Since
	check(t, reconstruct(t, history.TimeRange{Since: at("2026-01-31T09:10:01Z")}, text), wrote)
	check(t, reconstruct(t, history.TimeRange{Since: at("2026-01-31T09:10:01Z"), Before: at("2026-01-31T09:20:00Z")}, text))
	check(t, reconstruct(t, history.TimeRange{Before: at("2026-01-31T09:20:00Z")}, text), created)
}

func TestDeletionAndEvents(t *testing.T) {
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","uid":"1","creationTimestamp":"` + clock(10) +
		`","deletionTimestamp":"2026-01-31T09:30:30Z","deletionGracePeriodSeconds":30,"finalizers":["hold"]}}`
	kubeEvent := `{"apiVersion":"v1","kind":"Event","metadata":{"name":"web.1","namespace":"shop","uid":"2","creationTimestamp":"` + clock(11) +
		`"},"involvedObject":{"kind":"Pod","name":"web"},"reason":"Killing","lastTimestamp":"` + clock(20) + `"}`
	check(t, reconstruct(t, history.TimeRange{}, pod, kubeEvent), "10:00 creationTimestamp ADDED web", "20:00 event ADDED web.1", "30:00 deletionTimestamp MODIFIED web")
}

const template = `{"metadata":{"labels":{"app":"web"%s}},"spec":{"containers":[{"image":"web:%s","name":"web"}]}}`

// deployment returns a Deployment that was created at minute born and whose image was set at minute set.
func deployment(image string, born, set int) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"d","creationTimestamp":"` + clock(born) +
		`","managedFields":[{"manager":"setter","operation":"Update","apiVersion":"apps/v1","time":"` + clock(set) +
		`","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}}}]},"spec":{"template":` + fmt.Sprintf(template, "", image) + `}}`
}

// replicaSet returns a ReplicaSet with its revision number and former numbers, such as "1,3".
func replicaSet(image string, created int, number, former string) string {
	annotations := fmt.Sprintf(`"deployment.kubernetes.io/revision":%q`, number)
	if former != "" {
		annotations += fmt.Sprintf(`,"deployment.kubernetes.io/revision-history":%q`, former)
	}
	return `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web-` + image + `","namespace":"shop","uid":"r` + image + fmt.Sprint(created) + `","creationTimestamp":"` + clock(created) +
		`","annotations":{` + annotations + `},"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":"` + clock(created) + `","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:deployment.kubernetes.io/revision":{}}}}}],"ownerReferences":[{"kind":"Deployment","uid":"d","controller":true}]},"spec":{"template":` + fmt.Sprintf(template, `,"pod-template-hash":"x"`, image) + `}}`
}

// rollouts returns the reconstructed changes of pod templates.
func rollouts(t *testing.T, texts ...string) (lines []string) {
	t.Helper()
	for _, line := range reconstruct(t, history.TimeRange{}, texts...) {
		if strings.Contains(line, " revision ") {
			lines = append(lines, line)
		}
	}
	return lines
}

const image = "spec.template.spec.containers[name=web].image="

func TestReplicaSets(t *testing.T) {
	check(t, rollouts(t, deployment("2", 10, 20), replicaSet("1", 10, "1", ""), replicaSet("2", 20, "2", "")),
		"20:00 revision MODIFIED web "+image+"web:2(setter)")
	// The Deployment has a newer template, without a ReplicaSet. The managed fields do not describe revision 2.
	check(t, rollouts(t, deployment("3", 10, 20), replicaSet("1", 10, "1", ""), replicaSet("2", 20, "2", "")),
		"20:00 revision MODIFIED web "+image+"web:2")
	// The Deployment returned to revision 1. The return has no time, so only the rollout of revision 2 is reconstructed.
	check(t, rollouts(t, deployment("1", 10, 10), replicaSet("1", 10, "3", "1"), replicaSet("2", 20, "2", "")),
		"20:00 revision MODIFIED web "+image+"web:2")
	check(t, rollouts(t, deployment("4", 10, 30), replicaSet("1", 10, "3", "1"), replicaSet("2", 20, "2", ""), replicaSet("4", 30, "4", "")),
		"20:00 revision MODIFIED web "+image+"web:2", "30:00 revision MODIFIED web "+image+"web:4(setter)")
	// The previous ReplicaSet is missing, is older than the Deployment, or shares its number with another one.
	check(t, rollouts(t, deployment("3", 10, 20), replicaSet("1", 10, "1", ""), replicaSet("3", 20, "3", "")))
	check(t, rollouts(t, deployment("2", 15, 20), replicaSet("1", 10, "1", ""), replicaSet("2", 20, "2", "")))
	check(t, rollouts(t, deployment("2", 10, 20), replicaSet("1", 10, "1", ""), replicaSet("5", 11, "1", ""), replicaSet("2", 20, "2", "")))
	// The controller cuts such a long list of former numbers.
	check(t, rollouts(t, deployment("2", 10, 20), replicaSet("1", 10, "1", ""), replicaSet("2", 20, "2", strings.Repeat("12345,", 400)+"2")))
	// The template was set long before its revision was created, because the Deployment was paused. A later write of the same
	// manager hides that.
	check(t, rollouts(t, deployment("2", 10, 15), replicaSet("1", 10, "1", ""), replicaSet("2", 20, "2", "")))
	check(t, rollouts(t, deployment("2", 10, 25), replicaSet("1", 10, "1", ""), replicaSet("2", 20, "2", "")),
		"20:00 revision MODIFIED web "+image+"web:2(setter)")
	// A user created the ReplicaSet with the Deployment as its owner.
	check(t, rollouts(t, deployment("2", 10, 20), replicaSet("1", 10, "1", ""), strings.ReplaceAll(replicaSet("2", 20, "2", ""), "kube-controller-manager", "kubectl-create")))
	check(t, rollouts(t, deployment("2", 10, 20), replicaSet("1", 10, "1", ""), strings.ReplaceAll(replicaSet("2", 20, "2", ""), "f:deployment.kubernetes.io/revision", "f:a")))
	// The ReplicaSets belong to another Deployment.
	check(t, rollouts(t, strings.ReplaceAll(deployment("2", 10, 20), `"uid":"d"`, `"uid":"other"`), replicaSet("1", 10, "1", ""), replicaSet("2", 20, "2", "")))
}

// controllerRevision returns a ControllerRevision that was last written at minute written.
func controllerRevision(image string, created, written, number int) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"db-%s","namespace":"shop","uid":"c%[1]s","creationTimestamp":%q,"ownerReferences":[{"kind":"StatefulSet","uid":"d","controller":true}],`+
		`"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":%q,"fieldsType":"FieldsV1","fieldsV1":{"f:revision":{}}}]},"revision":%d,"data":{"spec":{"template":%s}}}`,
		image, clock(created), clock(written), number, strings.Replace(fmt.Sprintf(template, "", image), "{", `{"$patch":"replace",`, 1))
}

func TestControllerRevisions(t *testing.T) {
	set := strings.Replace(deployment("2", 10, 20), `"Deployment"`, `"StatefulSet"`, 1)
	check(t, rollouts(t, set, controllerRevision("1", 10, 10, 1), strings.Replace(controllerRevision("2", 20, 20, 2), "kube-controller-manager", "kubectl-create", 1)))
	check(t, rollouts(t, set, controllerRevision("1", 10, 10, 1), controllerRevision("2", 20, 20, 2)),
		"20:00 revision MODIFIED web "+image+"web:2(setter)")
	// A ControllerRevision that was written after its creation may have had another number.
	check(t, rollouts(t, set, controllerRevision("1", 10, 10, 1), controllerRevision("2", 20, 30, 2)))
	check(t, rollouts(t, set, controllerRevision("1", 10, 25, 3), controllerRevision("2", 20, 20, 2)))
	check(t, rollouts(t, set, controllerRevision("1", 10, 25, 3), controllerRevision("4", 30, 30, 4)),
		"30:00 revision MODIFIED web "+image+"web:4")
}

// TestCreationIsPartialObject checks that a creation contains only the fields that are known from that time.
func TestCreationIsPartialObject(t *testing.T) {
	h := history.History{}
	o := object(t, deployment("2", 10, 10))
	h.Add(targetOf(o), o)
	created := h.Events()[0].Object
	var got any
	if err := json.Unmarshal([]byte(created.Raw()), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
		"name": "web", "namespace": "shop", "uid": "d", "creationTimestamp": clock(10),
	}}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
}
