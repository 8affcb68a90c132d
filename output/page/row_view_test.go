package page

import (
	"fmt"
	"testing"

	"dwatch/watcher/event"
)

// written returns a pod in which programs have set one annotation to a time in nanoseconds, and another to a number.
func written(version int, manager string) event.Object {
	const managed = `"managedFields":[{"manager":%q,"operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:metadata":{"f:annotations":{"f:dwatch.test/counter":{},"f:dwatch.test/written-at":{}}}}}]`
	return object("Pod", "pod-00001", "40d66dc7-beaa-4f93-99ab-523d2ee39dc9", fmt.Sprint(version), fmt.Sprintf(
		`,"annotations":{"dwatch.test/counter":"%d","dwatch.test/written-at":"%d"},`+managed+`},"spec":{},"status":{"phase":"Running"}`,
		1000+version, 1_795_451_071_467_494_553+version, manager))
}

// TestBytes tests that a change of two values, as in make bench, takes at most 500 bytes per viewer.
func TestBytes(t *testing.T) {
	h := newHub()
	deliver(t, h, added(pods, written(1, "cluster-churn"), 0))
	last := h.log.last
	deliver(t, h, modified(pods, written(1, "cluster-churn"), written(2, "cluster-churn"), 1))
	entries, _ := h.log.after(last, 10)
	if len(entries) != 1 {
		t.Fatalf("%d messages", len(entries))
	}
	text := entries[0].full(nil)
	if m := decode(t, text); len(text) > 500 || m["row"] != nil || len(m["changes"].([]any)) != 2 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// TestBy tests that a row has the field managers of all retained states.
func TestBy(t *testing.T) {
	h := newHub()
	managers := []string{"argocd-controller", "argocd-controller", "kubectl-edit"}
	o := written(1, managers[0])
	deliver(t, h, added(pods, o, 0))
	for i, manager := range managers[1:] {
		now := written(i+2, manager)
		deliver(t, h, modified(pods, o, now, i+1))
		o = now
	}
	past, _ := h.inventory.History("pods/" + string(o.UID))
	row := decode(t, past.Entry.ViewData.(*rowView).row)
	if got := row.text("by"); got != "[kubectl-edit argocd-controller]" {
		t.Errorf("by %s", got)
	}
}
