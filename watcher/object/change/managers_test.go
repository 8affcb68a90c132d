package change

import (
	"fmt"
	"testing"
)

func TestManagers(t *testing.T) {
	for object, want := range map[string]string{
		`{}`: "[]",
		`{"metadata":{"managedFields":[{"manager":"kubelet"},{"manager":"argocd"},{"manager":"kubelet","subresource":"status"},{"manager":"ancient-changes"},{}]}}`: "[argocd kubelet]",
		`{"metadata":{"managedFields":"odd"}}`: "[]",
	} {
		if got := fmt.Sprint(Managers(object)); got != want {
			t.Errorf("%s: got %s, want %s", object, got, want)
		}
	}
}
