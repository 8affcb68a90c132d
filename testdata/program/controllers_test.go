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

// controlled has the scripts that need what the plain API server does not have: the
// controllers of the workloads, stand-ins for kubelets, and a kubectl.
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

// withControllers is the server of all tests that need its controllers, and look at no
// namespace but their own. It is started when the first of them needs it.
var withControllers = sync.OnceValues(func() (*testenv.Cluster, error) { return testenv.StartCluster("--controllers") })

// controllersBed is that server, where there is a kubectl.
func controllersBed(t *testing.T) *testenv.Cluster {
	t.Helper()
	if _, err := os.Stat(readme.Path(t, "bin/kubectl")); errors.Is(err, os.ErrNotExist) {
		t.Skip("make bin/kubectl builds what this is compared with")
	}
	controlling.Store(true)
	c, err := withControllers()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// controlling says that there is something for stopControllers to do.
var controlling atomic.Bool

func stopControllers() error {
	if !controlling.Load() {
		return nil
	}
	c, err := withControllers()
	if err != nil {
		return nil // it was said
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
