package testenv

import (
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

func TestCluster(t *testing.T) {
	c, err := StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	for context, may := range map[string]bool{"": true, "admin": true, "limited": false} {
		config, err := c.Config(context)
		if err != nil {
			t.Fatal(err)
		}
		client := dynamic.NewForConfigOrDie(config)
		list := func(resource string) error {
			_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).
				Namespace("default").List(t.Context(), metav1.ListOptions{})
			return err
		}
		if err := list("pods"); err != nil {
			t.Errorf("context %q: %v", context, err)
		}
		if err := list("secrets"); (err == nil) != may || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("context %q: %v", context, err)
		}
	}
	if _, err := c.Run("nonesuch"); err == nil {
		t.Error("an unknown subcommand is no error")
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Kubeconfig); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig is still there: %v", err)
	}
}

func TestKill(t *testing.T) {
	c, err := StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	c.Kill()
	if c.child.ProcessState.Success() {
		t.Error("it ended well")
	}
}

func TestStartErrors(t *testing.T) {
	_, err := StartCluster("--nonesuch")
	if err == nil || !strings.Contains(err.Error(), "--nonesuch") {
		t.Errorf("an unknown flag: %v", err)
	}
	t.Setenv("DWATCH_CLUSTER", "/nonesuch")
	if _, err = StartCluster(); err == nil || !strings.Contains(err.Error(), "run make bin/cluster") {
		t.Errorf("no program: %v", err)
	}
}
