package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"dwatch/testdata/bed"
	"dwatch/testdata/readme"
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

// controllersBed starts a server with its controllers, where there is a kubectl.
func controllersBed(t *testing.T) *bed.Cluster {
	t.Helper()
	if _, err := os.Stat(readme.Path(t, "bin/kubectl")); errors.Is(err, os.ErrNotExist) {
		t.Skip("make bin/kubectl builds what this is compared with")
	}
	c, err := bed.Start("--controllers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func setupWithKubectl(t *testing.T, c *bed.Cluster, env *testscript.Env) error {
	if err := setupOn(c, env); err != nil {
		return err
	}
	path := []string{binaries, filepath.Dir(readme.Path(t, "bin/kubectl")), env.Getenv("PATH")}
	env.Setenv("PATH", strings.Join(path, string(os.PathListSeparator)))
	env.Setenv("HOME", env.WorkDir)
	return nil
}
