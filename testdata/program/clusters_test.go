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

// TestClusters runs the scripts of testdata/script/clusters on three servers: eu, the server that all tests share, and two
// extra ones, us and asia. A script has to create its namespace in us and asia itself. The contexts of its kubeconfig are
//
//	eu, us, asia   with all permissions
//	eu-again       the same as eu
//	eu-alias       the same as eu, as another cluster of the kubeconfig
//	denied         us, with no permissions
//	down           an address without a server
//	hang           us, with a credential plugin that never ends
//
// The commands "freeze NAME" and "thaw NAME" suspend and resume the server us or asia, and "crash NAME" kills it. "ask
// NAME" sends SIGUSR1 to a program, which then reports the state of its watch. Scripts can also run kubectl.
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
		Dir:                 scripts + "/clusters", // only the script clusters freezes and kills asia
		Setup:               func(env *testscript.Env) error { return setupClusters(t, more, env) },
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                all,
	})
}

// extraCluster is a server that only some tests use. Its kubeconfig is read at the start, because the file is removed
// with the server and a script may begin after another one has killed the server.
type extraCluster struct {
	*testenv.Cluster
	config *api.Config
}

// startClusters starts extra servers, which end with the test.
func startClusters(t *testing.T, names ...string) map[string]extraCluster {
	t.Helper()
	more := map[string]extraCluster{}
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
		more[name] = extraCluster{c, config}
	}
	return more
}

func setupClusters(t *testing.T, more map[string]extraCluster, env *testscript.Env) error {
	if err := setupWithKubectl(t, testbed, env); err != nil {
		return err
	}
	return writeContexts(filepath.Join(env.WorkDir, ".kubeconfig"), env.Getenv("NS"), more)
}

// writeContexts writes a kubeconfig with the contexts of TestClusters, all in one namespace.
func writeContexts(path, namespace string, more map[string]extraCluster) error {
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
