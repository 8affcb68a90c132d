package cluster

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// TestChooseContexts checks the selection of contexts by name, by pattern, or all.
func TestChooseContexts(t *testing.T) {
	config := &api.Config{Contexts: map[string]*api.Context{}}
	for _, name := range []string{"prod-eu", "prod-us", "test", "arn:aws:eks:eu:1:cluster/blue", "a,b"} {
		config.Contexts[name] = &api.Context{}
	}
	for name, test := range map[string]struct {
		contexts contexts
		want     []string
		wrong    string
	}{
		"one":           {contexts{typed: []string{"test"}}, []string{"test"}, ""},
		"as typed":      {contexts{typed: []string{"test,prod-us", "prod-eu", "test"}}, []string{"test", "prod-us", "prod-eu"}, ""},
		"a pattern":     {contexts{typed: []string{"prod-*"}}, []string{"prod-eu", "prod-us"}, ""},
		"and a name":    {contexts{typed: []string{"prod-u?,prod-*"}}, []string{"prod-us", "prod-eu"}, ""},
		"with slashes":  {contexts{typed: []string{"arn:*blue"}}, []string{"arn:aws:eks:eu:1:cluster/blue"}, ""},
		"called a list": {contexts{typed: []string{"a,b", "test"}}, []string{"a,b", "test"}, ""},
		"all":           {contexts{all: true}, []string{"a,b", "arn:aws:eks:eu:1:cluster/blue", "prod-eu", "prod-us", "test"}, ""},
		"all, and one":  {contexts{all: true, typed: []string{"test"}}, nil, "--all-contexts and --context cannot be combined"},
		"none such":     {contexts{typed: []string{"test,stage"}}, nil, `kubeconfig: context "stage" does not exist; there is a,b, arn:aws:eks:eu:1:cluster/blue, prod-eu, prod-us, test`},
		"none like it":  {contexts{typed: []string{"x*"}}, nil, `kubeconfig: no context matches "x*"; there is a,b, arn:aws:eks:eu:1:cluster/blue, prod-eu, prod-us, test`},
	} {
		got, err := test.contexts.choose(config)
		wrong := ""
		if err != nil {
			wrong = err.Error()
		}
		if diff := cmp.Diff(test.want, got); diff != "" || wrong != test.wrong {
			t.Errorf("%s: got error %q, want %q; -want +got:\n%s", name, wrong, test.wrong, diff)
		}
	}
	if _, err := (&contexts{all: true}).choose(&api.Config{}); err == nil {
		t.Error("--all-contexts without contexts returned no error")
	}
}

// TestReadOnce checks that connecting to several clusters reads the kubeconfig once, and that a retry reads it again.
func TestReadOnce(t *testing.T) {
	config := api.NewConfig()
	for _, name := range []string{"eu", "us"} {
		config.Clusters[name] = &api.Cluster{Server: "https://" + name}
		config.AuthInfos[name] = &api.AuthInfo{Token: name}
		config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name, Namespace: "in-" + name}
	}
	f := &Flags{kubeconfig: filepath.Join(t.TempDir(), "config"), contexts: contexts{all: true}, overrides: clientcmd.ConfigOverrides{Timeout: "0"}}
	if err := clientcmd.WriteToFile(*config, f.kubeconfig); err != nil {
		t.Fatal(err)
	}
	members, err := f.SelectedContexts(false)
	if err != nil || len(members) != 2 {
		t.Fatal(members, err)
	}
	for _, name := range []string{"eu", "us"} {
		config.Clusters[name].Server += ":1"
	}
	if err := clientcmd.WriteToFile(*config, f.kubeconfig); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"eu", "us"} {
		for _, want := range []string{name, name + ":1"} {
			c, err := members[i].Flags.Connect(Options{})
			if err != nil {
				t.Fatal(err)
			}
			if c.Host != want || c.Context != name || c.Namespace != "in-"+name || c.Config.BearerToken != name {
				t.Errorf("%s: %+v, want %s", name, c, want)
			}
		}
	}
}
