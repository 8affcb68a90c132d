package plan

import (
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"dwatch/mapper"
	"dwatch/testdata/testenv"
)

var cluster *testenv.Cluster

func TestMain(m *testing.M) { os.Exit(testenv.Main(m, &cluster)) }

func admin(t testing.TB) *rest.Config {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.WarningHandler = rest.NoWarnings{}
	return config
}

func planner(t testing.TB, r Request) *Planner {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(admin(t))
	if err != nil {
		t.Fatal(err)
	}
	return New(r, mapper.New(d))
}

func first(t testing.TB, r Request) *Plan {
	t.Helper()
	p, err := planner(t, r).InitialPlan(t.Context())
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return p
}

// of returns a Request for arguments TYPE or TYPE/NAME in the namespace home.
func of(args ...string) Request {
	r := Request{DefaultNamespace: "home"}
	for _, arg := range args {
		resource, name, _ := strings.Cut(arg, "/")
		r.Arguments = append(r.Arguments, mapper.Argument{Resource: resource, Name: name})
	}
	return r
}

func everywhere(r Request) Request {
	r.AllNamespaces = true
	return r
}

func waiting(r Request) Request {
	r.WaitForResources = true
	return r
}

func awaited(r Request) Request {
	r.AwaitsObjects = true
	return r
}

func without(r Request, exclude ...string) Request {
	r.Exclude = exclude
	return r
}
