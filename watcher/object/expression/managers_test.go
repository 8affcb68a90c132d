package expression

import (
	"fmt"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// TestManagers checks the variable managers and the preset manual for observed and reconstructed events.
func TestManagers(t *testing.T) {
	by := func(names ...string) (entries string) {
		for i, name := range names {
			entries += fmt.Sprintf(`,{"manager":%q,"operation":"Update","apiVersion":"v1","time":"2026-01-31T09:00:%02dZ","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k%[2]d":{}}}}`, name, i)
		}
		return strings.TrimPrefix(entries, ",")
	}
	cm := func(data, managed string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[` + managed + `]},"data":` + data + `}`
	}
	added := event.Event{Type: event.Added, Object: object(cm(`{"k0":"1","k1":"1"}`, by("kubectl-create", "helm")))}
	initial := added
	initial.Initial = true
	deleted := added
	deleted.Type = event.Deleted
	reconstructed := func(e event.Event, evidence event.Evidence) event.Event {
		e.Reconstructed = &evidence
		return e
	}
	bare := event.Event{Type: event.Added, Object: object(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)}
	person, robot := []event.Writer{{Manager: "kubectl-edit"}}, []event.Writer{{Manager: "argocd"}}
	for name, test := range map[string]struct {
		event    event.Event
		manual   bool
		unknown  bool
		managers string // empty if unknown
	}{
		"added":                       {added, true, false, "['helm', 'kubectl-create']"},
		"initial":                     {initial, false, false, "[]"},
		"deleted":                     {deleted, false, false, "[]"},
		"changed":                     {modified(cm(`{"k0":"1"}`, by("argocd")), cm(`{"k0":"2"}`, by("argocd"))), false, false, "['argocd']"},
		"changed by two managers":     {modified(cm(`{"k0":"1","k1":"1"}`, by("argocd", "k9s")), cm(`{"k0":"2","k1":"2"}`, by("argocd", "k9s"))), true, false, "['argocd', 'k9s']"},
		"unknown old state":           {modified("", cm(`{"k0":"2"}`, by("k9s"))), false, true, ""},
		"managed fields of a person":  {reconstructed(modified("", cm(`{}`, "")), event.Evidence{From: event.FromManagedFields, Writers: person}), true, false, "['kubectl-edit']"},
		"managed fields of a program": {reconstructed(modified("", cm(`{}`, "")), event.Evidence{From: event.FromManagedFields, Writers: robot}), false, false, "['argocd']"},
		"creation":                    {reconstructed(bare, event.Evidence{From: event.FromCreation, Writers: person, Conclusive: true}), true, false, "['kubectl-edit']"},
		"inconclusive creation":       {reconstructed(bare, event.Evidence{From: event.FromCreation, Writers: person}), false, true, ""},
		"deletion timestamp":          {reconstructed(modified("", cm(`{}`, "")), event.Evidence{From: event.FromDeletion}), false, true, ""},
		"revision":                    {reconstructed(modified(cm(`{"k0":"1"}`, by("k9s")), cm(`{"k0":"2"}`, by("k9s"))), event.Evidence{From: event.FromRevision}), true, false, "['k9s']"},
		"revision without managers":   {reconstructed(modified(cm(`{"k0":"1"}`, ""), cm(`{"k0":"2"}`, "")), event.Evidence{From: event.FromRevision}), false, true, ""},
		"Kubernetes Event":            {reconstructed(added, event.Evidence{From: event.FromEvent}), true, false, "['helm', 'kubectl-create']"},
	} {
		x, err := Compile("manual")
		if err != nil {
			t.Fatal(err)
		}
		in := NewInput(test.event, testOptions())
		if got, err := x.Matches(in); got != test.manual || err != nil || in.LacksOldState() != test.unknown {
			t.Errorf("%s: got manual %t, unknown %t, %v, want %t, %t", name, got, in.LacksOldState(), err, test.manual, test.unknown)
		}
		if test.managers == "" {
			continue
		}
		if ok, err := evaluate(t, "managers == "+test.managers, test.event); !ok || err != nil {
			t.Errorf("%s: managers are not %s, %v", name, test.managers, err)
		}
	}
}
