package flags

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// TestWaitForm evaluates the forms of kubectl wait for objects whose fields may have unexpected types.
// None of them may fail with an error: the user did not write the expressions.
func TestWaitForm(t *testing.T) {
	for _, test := range []struct {
		form, status string
		want         bool
	}{
		{"condition=Ready", `{"conditions":[{"type":"Ready","status":"True"}]}`, true},
		{"condition=ready=false", `{"conditions":[{"type":"Ready","status":"False"}]}`, true},
		{"condition=Ready", `{"observedGeneration":"1","conditions":[{"type":"Ready","status":"True"}]}`, true},
		{"condition=Ready", `{"conditions":[{"type":"Ready","status":"True","observedGeneration":"5f8bd7"}]}`, true},
		{"condition=Ready", `{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True","observedGeneration":"2"}]}`, false},
		{"condition=Ready", `{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True","observedGeneration":2}]}`, true},
		{"condition=Ready", `{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}`, false},
		{"condition=Ready", `{"conditions":[{"type":"Ready","status":true}]}`, false},
		{"condition=Ready", `{"conditions":[{"type":"Ready","status":true},{"type":"Ready","status":"True"}]}`, true},
		{"condition=Ready", `{"conditions":[{"type":"Ready","status":"False"},{"type":"Ready","status":"True"},{"type":"Ready","status":"True"}]}`, false},
		{"condition=Ready", `{"conditions":[1,null,"Ready",{"status":"True"},{"type":7},{"type":"Ready","status":"True"}]}`, true},
		{"condition=Ready", `{"conditions":"Ready"}`, false},
		{"condition=Ready", `{"conditions":{"Ready":"True"}}`, false},
		{"condition=Ready", `{"conditions":null}`, false},
		{"condition=Ready", `{}`, false},
		{"condition=Ready", `"Ready"`, false},
		{"jsonpath={.status.phase}=Running", `{"phase":"Running"}`, true},
		{"jsonpath={status.phase}=Running", `{"phase":"Running"}`, true},
		{"jsonpath={status.phase}", `{"phase":"Running"}`, true},
		{"jsonpath={.status.phase}=Running", `{"phase":" Running\n"}`, true},
		{"jsonpath={.status.phase}= Running ", `{"phase":"Running"}`, true},
		{"jsonpath={.status.phase}=Running", `{"phase":"Run ning"}`, false},
	} {
		text, err := waitForm(test.form)
		if err != nil {
			t.Fatalf("%s: %v", test.form, err)
		}
		x, err := expression.Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", test.form, err)
		}
		content := `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","generation":2},"status":` + test.status + `}`
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON([]byte(content)); err != nil {
			t.Fatal(err)
		}
		o := event.NewObject(&event.Identity{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: "a"}, content)
		got, err := x.Matches(expression.NewInput(event.Event{Type: event.Added, Object: o}, expression.Options{}))
		if err != nil || got != test.want {
			t.Errorf("%s with status %s: got %v (%v), want %v", test.form, test.status, got, err, test.want)
		}
	}
}

// TestWaitConditionFields checks that only fields that the user named are compared with the schema.
func TestWaitConditionFields(t *testing.T) {
	for want, forms := range map[string][]string{
		"": {"condition=Complete"}, "object.spec.replicas == 3": {"condition=Complete", "object.spec.replicas == 3", "ready"},
	} {
		w := Wait{forms: forms}
		c, err := w.condition()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(c.Fields); got != len(forms)/2 {
			t.Errorf("%v: got fields %v, want the fields of %q", forms, c.Fields, want)
		}
	}
}
