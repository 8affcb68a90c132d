package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"dwatch/testdata/readme"
	"dwatch/testdata/testenv"
)

// controlled is the directory of the scripts that need more than the plain API server: the controllers of the workloads,
// simulated kubelets, and kubectl.
const controlled = scripts + "/controllers"

// TestControllers runs the scripts of testdata/script/controllers on one server.
func TestControllers(t *testing.T) {
	t.Parallel()
	c := controllersBed(t)
	testscript.Run(t, testscript.Params{
		Dir:                 controlled,
		Setup:               func(env *testscript.Env) error { return setupWithKubectl(t, c, env) },
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                commands,
	})
}

// withControllers starts the server of all tests that need its controllers and use only their own namespace. It runs
// once, for the first of these tests.
var withControllers = sync.OnceValues(func() (*testenv.Cluster, error) { return testenv.StartCluster("--controllers") })

// controllersBed returns the server of withControllers. It skips the test if there is no kubectl.
func controllersBed(t *testing.T) *testenv.Cluster {
	t.Helper()
	if _, err := os.Stat(readme.Path(t, "bin/kubectl")); errors.Is(err, os.ErrNotExist) {
		t.Skip("kubectl is missing, run make bin/kubectl")
	}
	controlling.Store(true)
	c, err := withControllers()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// controlling is true once withControllers was called, so that stopControllers has to stop the server.
var controlling atomic.Bool

func stopControllers() error {
	if !controlling.Load() {
		return nil
	}
	c, err := withControllers()
	if err != nil {
		return nil // controllersBed has reported the error
	}
	return c.Stop()
}

func setupWithKubectl(t *testing.T, c *testenv.Cluster, env *testscript.Env) error {
	if err := setupOn(c, env); err != nil {
		return err
	}
	path := []string{filepath.Join(binaries, undatedDir), filepath.Dir(readme.Path(t, "bin/kubectl")), env.Getenv("PATH")}
	env.Setenv("PATH", strings.Join(path, string(os.PathListSeparator)))
	env.Setenv("HOME", env.WorkDir)
	return nil
}
