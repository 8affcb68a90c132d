package access

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/fail"
)

// TestExplain checks that a denial is explained in the server's words, with what to do about it.
func TestExplain(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	watch := apierrors.NewForbidden(pods, "", errors.New(`User "u" cannot watch resource "pods" in API group "" in the namespace "n"`))
	for _, test := range []struct {
		err  error
		want string
	}{
		{watch, `pods is forbidden: User "u" cannot watch resource "pods" in API group "" in the namespace "n"; dwatch needs the verbs list and watch, dwatch rbac prints a role with them`},
		{deniedError{error: watch, both: true, hint: "do that"}, `pods is forbidden: User "u" cannot list or watch resource "pods" in API group "" in the namespace "n"; dwatch needs the verbs list and watch, dwatch rbac prints a role with them; do that`},
		{apierrors.NewForbidden(pods, "", errors.New("quota")), "pods is forbidden: quota"},
		{apierrors.NewUnauthorized("no"), "You must be logged in to the server (Unauthorized): log in again, or check the user in the kubeconfig or --token"},
		{errors.New("other"), "watch pods: other"},
	} {
		// It is of no target, so the server is not asked.
		got := fail.Explain(new(Checker).DescribeDenials(t.Context(), fmt.Errorf("watch pods: %w", test.err)))
		if _, detailed := test.err.(deniedError); detailed {
			got = fail.Explain(fmt.Errorf("watch pods: %w", test.err))
		}
		if len(got) != 1 || got[0] != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
