//go:build !windows

package program

import (
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/testdata/testenv"
)

// TestClusters runs the scripts of testdata/script/clusters on three servers: that of all tests, which
// is eu, and two more, us and asia. The script makes its namespace in the other two. The contexts of its
// kubeconfig are
//
//	eu, us, asia   as one who may do everything
//	eu-again       the same as eu
//	eu-alias       the same as eu, as another cluster of the kubeconfig
//	denied         us, as one who may do nothing
//	down           where nobody listens
//	hang           us, with a credential plugin that does not end
//
// The commands "freeze NAME" and "thaw NAME" stop us or asia, and have it go on; "crash NAME" ends
// it. "ask NAME" asks a program how its watch is, by SIGUSR1. kubectl is there, too.
func TestClusters(t *testing.T) {
	t.Parallel()
	more := startClusters(t, "us", "asia")
	all := maps.Clone(commands)
	for name, do := range map[string]func(*testenv.Cluster) error{"freeze": (*testenv.Cluster).Freeze, "thaw": (*testenv.Cluster).Thaw} {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if len(args) != 1 || more[args[0]].Cluster == nil {
				ts.Fatalf("usage: %s us|asia", name)
			}
			ts.Check(do(more[args[0]].Cluster))
		}
	}
	all["crash"] = func(ts *testscript.TestScript, neg bool, args []string) { more[args[0]].Kill() }
	all["ask"] = func(ts *testscript.TestScript, neg bool, args []string) {
		ts.Check(of(ts).programs[args[0]].cmd.Process.Signal(syscall.SIGUSR1))
	}
	testscript.Run(t, testscript.Params{
		Dir:                 scripts + "/clusters", // of which clusters alone freezes and ends asia
		Setup:               func(env *testscript.Env) error { return setupClusters(t, more, env) },
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                all,
	})
}

// another is a server beside that of all tests. Its kubeconfig is read when it starts: the file
// goes with it, and scripts begin after another one has ended it.
type another struct {
	*testenv.Cluster
	config *api.Config
}

// startClusters starts more servers than that of all tests.
func startClusters(t *testing.T, names ...string) map[string]another {
	t.Helper()
	more := map[string]another{}
	for _, name := range names {
		c, err := testenv.StartCluster()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Thaw(); c.Kill() })
		config, err := clientcmd.LoadFromFile(c.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		more[name] = another{c, config}
	}
	return more
}

func setupClusters(t *testing.T, more map[string]another, env *testscript.Env) error {
	if err := setupWithKubectl(t, testbed, env); err != nil {
		return err
	}
	return writeContexts(filepath.Join(env.WorkDir, ".kubeconfig"), env.Getenv("NS"), more)
}

// writeContexts writes a kubeconfig with the contexts of TestClusters, all in one namespace.
func writeContexts(path, namespace string, more map[string]another) error {
	config, err := clientcmd.LoadFromFile(testbed.Kubeconfig)
	if err != nil {
		return err
	}
	here := config.Contexts[config.CurrentContext]
	config.Clusters["eu"], config.AuthInfos["eu"] = config.Clusters[here.Cluster], config.AuthInfos[here.AuthInfo]
	config.Clusters["eu-alias"] = config.Clusters["eu"]
	config.Contexts = map[string]*api.Context{}
	for name, c := range more {
		config.Clusters[name], config.AuthInfos[name] = c.config.Clusters["cluster"], c.config.AuthInfos["admin"]
		if name == "us" {
			config.AuthInfos["limited"] = c.config.AuthInfos["limited"]
		}
	}
	config.Clusters["down"] = &api.Cluster{Server: "https://127.0.0.1:1"}
	config.AuthInfos["hang"] = &api.AuthInfo{Exec: &api.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", "exec sleep 100 >/dev/null 2>&1"}, InteractiveMode: api.NeverExecInteractiveMode,
	}}
	for name, at := range map[string][2]string{
		"eu": {"eu", "eu"}, "us": {"us", "us"}, "asia": {"asia", "asia"}, "eu-again": {"eu", "eu"}, "eu-alias": {"eu-alias", "eu"},
		"denied": {"us", "limited"}, "down": {"down", "us"}, "hang": {"us", "hang"},
	} {
		config.Contexts[name] = &api.Context{Cluster: at[0], AuthInfo: at[1], Namespace: namespace}
	}
	config.CurrentContext = "eu"
	return clientcmd.WriteToFile(*config, path)
}
