package program

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// completions runs the completion of the built binary, which must print nothing on stderr.
func completions(t *testing.T, kubeconfig string, words ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	words = append([]string{cobra.ShellCompRequestCmd, "--kubeconfig", kubeconfig}, words...)
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, "dwatch"), words...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("dwatch %q: %v, stderr: %q", words, err, &stderr)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// kubeconfigFor writes a kubeconfig with one server and one user.
func kubeconfigFor(t *testing.T, server string, user api.AuthInfo) string {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["it"] = &api.Cluster{Server: server}
	config.AuthInfos["it"] = &user
	config.Contexts["it"] = &api.Context{Cluster: "it", AuthInfo: "it"}
	config.CurrentContext = "it"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCompletionOfSilence checks that completion gives up at its deadline if the server accepts connections but sends
// nothing, and if a credential plugin never returns credentials.
func TestCompletionOfSilence(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() }) // Accept is never called: the kernel accepts the connections and keeps them open
	sleeps := api.AuthInfo{Exec: &api.ExecConfig{
		APIVersion:      "client.authentication.k8s.io/v1",
		Command:         "sleep",
		Args:            []string{"10"},
		InteractiveMode: api.IfAvailableExecInteractiveMode,
	}}
	for name, kubeconfig := range map[string]string{
		"server":      kubeconfigFor(t, "http://"+mute.Addr().String(), api.AuthInfo{}),
		"TLS":         kubeconfigFor(t, "https://"+mute.Addr().String(), api.AuthInfo{}),
		"credentials": kubeconfigFor(t, "https://"+mute.Addr().String(), sleeps),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := completions(t, kubeconfig, "pods", ""); !slices.Equal(got, []string{":4"}) {
				t.Errorf("%q, want nothing", got)
			}
		})
	}
}

// maxNames is the maximum number of names that completion offers. It is also the page size of its list.
const maxNames = 500

// TestCompletionOfManyNames checks that completion offers one page of names if there are more, and that it finds names
// with the typed prefix behind the first page.
func TestCompletionOfManyNames(t *testing.T) {
	t.Parallel()
	config, err := testbed.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ns, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "many-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for worker := range 10 {
		all.Go(func() {
			for i := worker; i <= maxNames; i += 10 {
				name := fmt.Sprintf("a-%d", i)
				if i == maxNames {
					name = "z"
				}
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
				if _, err := client.CoreV1().ConfigMaps(ns.Name).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := completions(t, testbed.Kubeconfig, "-n", ns.Name, "cm", "z"); !slices.Equal(got, []string{"z", ":4"}) {
		t.Errorf("z: %q", got)
	}
	got := completions(t, testbed.Kubeconfig, "-n", ns.Name, "cm", "")
	if want := "_activeHelp_ there are more names than these"; len(got) != maxNames+2 || got[maxNames] != want {
		t.Errorf("%d lines, ending with %q; want %d names and %q", len(got), got[len(got)-2:], maxNames, want)
	}
}
