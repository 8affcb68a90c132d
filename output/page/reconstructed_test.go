package page

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/watcher/event"
)

var deployments = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment", true)}

// TestFoundAtStart tests the conditions of an object that existed at the start, and the time and subject of such an
// Event.
func TestFoundAtStart(t *testing.T) {
	t.Parallel()
	h := newHub()
	ready := func(uid, status, since, version string) event.Object {
		return object("Pod", "web-"+uid, uid, version, `},"status":{"conditions":[{"type":"Ready","status":"`+status+`","reason":"Why","message":"because","lastTransitionTime":"`+since+`"}]}`)
	}
	told := object("Event", "web.1", "e", "1", `},"type":"Warning","lastTimestamp":"2026-01-02T03:04:06Z","involvedObject":{"kind":"Pod","name":"web","uid":"p"}`)
	initial := func(o event.Object, target event.Target) event.Event {
		e := added(target, o, 0)
		e.Initial = true
		return e
	}
	was, is := ready("p", "False", "2026-01-02T03:04:05Z", "1"), ready("p", "True", "2026-01-02T03:14:05Z", "2")
	events := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "events"}, "Event", true)}
	deliver(t, h, initial(was, pods), initial(told, events), modified(pods, was, is, 1), added(pods, ready("l", "True", "2026-01-02T03:04:05Z", "1"), 2))
	s := serve(t, h)
	m := s.get(t, "/api/object?key=pods/p")
	if got := output.JSON(m["conditionsBefore"]); got != `[{"status":"False","time":"2026-01-02T03:04:05Z","type":"Ready"}]` {
		t.Errorf("as it was found: %s", got)
	}
	row := s.get(t, "/api/object?key=events/e")["row"].(map[string]any)
	if got := output.JSON(row["about"]); got != `{"at":1767323046000,"kind":"Pod","name":"web","uid":"p"}` {
		t.Errorf("the Event is about %s", got)
	}
	if later := s.get(t, "/api/object?key=pods/l"); later["conditionsBefore"] != nil {
		t.Errorf("an object that appeared later has conditionsBefore: %v", later["conditionsBefore"])
	}
}

// TestReconstructedChanges tests the reconstructed changes of an object from before the start, masked. Objects that
// appeared later have none.
func TestReconstructedChanges(t *testing.T) {
	t.Parallel()
	h := newHub()
	template := func(image string) string {
		return `{"metadata":{},"spec":{"containers":[{"name":"main","image":"` + image + `"}]}}`
	}
	apps := func(kind, name, uid, rest string) event.Object {
		o := object(kind, name, uid, "1", rest)
		id := *o.Identity
		id.APIVersion = "apps/v1"
		return event.NewObject(&id, strings.Replace(o.Raw(), `"apiVersion":"v1"`, `"apiVersion":"apps/v1"`, 1))
	}
	set := func(n int, image, created string) event.Object {
		o := apps("ReplicaSet", fmt.Sprint("web-", n), fmt.Sprint("rs", n), fmt.Sprintf(`,"annotations":{"deployment.kubernetes.io/revision":"%d"},"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","fieldsV1":{"f:metadata":{"f:annotations":{"f:deployment.kubernetes.io/revision":{}}}}}],"ownerReferences":[{"controller":true,"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d"}]},"spec":{"template":%s}`, n, template(image)))
		return event.NewObject(o.Identity, strings.Replace(o.Raw(), "2026-01-02T03:04:05Z", created, 1))
	}
	h.FetchRevisions = func(_ context.Context, _ string, o event.Object) ([]event.Object, error) {
		if o.Name == "denied" {
			return nil, errors.New("the former templates are not known")
		}
		return []event.Object{set(1, "web:1", "2026-01-02T03:04:05Z"), set(2, "web:2", "2026-01-02T04:00:00Z")}, nil
	}
	managed := `,"managedFields":[{"manager":"argocd","operation":"Update","apiVersion":"apps/v1","time":"2026-01-02T05:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]}`
	initial := func(o event.Object, target event.Target) event.Event {
		e := added(target, o, 0)
		e.Initial = true
		return e
	}
	secret := object("Secret", "s", "us", "1", strings.ReplaceAll(managed, "f:spec\":{\"f:replicas", "f:data\":{\"f:password")+`,"data":{"password":"b25l"}`)
	deliver(t, h,
		initial(apps("Deployment", "web", "d", managed+`,"spec":{"replicas":3,"template":`+template("web:2")+`}`), deployments),
		initial(apps("Deployment", "denied", "n", `}`), deployments),
		added(deployments, apps("Deployment", "later", "l", managed), 1),
		initial(event.NewObject(secret.Identity, strings.Replace(secret.Raw(), "apps/v1", "v1", 1)), secrets))
	s := serve(t, h)
	says := func(key string) string {
		m := s.get(t, "/api/before?key="+key)
		lines := []string{m.text("error")}
		for _, i := range m["items"].([]any) {
			i := message(i.(map[string]any))
			line := fmt.Sprint(i.text("from"), " ", i["who"], " ", i["revision"])
			changes, _ := i["changes"].([]any)
			for _, c := range changes {
				c := message(c.(map[string]any))
				line += fmt.Sprintf(" %s %v→%v", c.text("path"), c["old"], c["new"])
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n")
	}
	for key, want := range map[string]string{
		"deployments.apps/d": "<nil>\nmanagedFields argocd <nil> spec.replicas <nil>→3\nrevision <nil> 2 spec.template.spec.containers[name=main].image web:1→web:2\ncreationTimestamp <nil> <nil>",
		"deployments.apps/n": "the former templates are not known\ncreationTimestamp <nil> <nil>",
		"deployments.apps/l": "<nil>",
	} {
		if got := says(key); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", key, got, want)
		}
	}
	if got := says("secrets/us"); strings.Contains(got, "b25l") || !strings.Contains(got, "data.password") {
		t.Errorf("a Secret: %s", got)
	}
}
