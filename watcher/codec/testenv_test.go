package codec_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/testdata/testenv"
	"dwatch/watcher/codec"
)

// testbed is the API server with the objects of testdata. It starts when a test first requests it,
// because fuzzing and benchmarks do not need it.
var testbed = sync.OnceValues(func() (*testenv.Cluster, error) {
	c, err := testenv.StartCluster()
	if err != nil {
		return nil, err
	}
	started = c
	if _, err := c.Run("apply", "testdata/crds.yaml", "testdata/objects.yaml"); err != nil {
		return nil, err
	}
	_, err = c.Run("pods", "30")
	return c, err
})

var started *testenv.Cluster

// Resources of testdata/crds.yaml.
var (
	untamed = schema.GroupVersionResource{Group: "zoo.example.com", Version: "v1", Resource: "untamed"}
	flocks  = schema.GroupVersionResource{Group: "zoo.example.com", Version: "v1", Resource: "flocks"}
	gadgets = schema.GroupVersionResource{Group: "zoo.example.com", Version: "v1", Resource: "gadgets"}
)

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

func config(t *testing.T, user string) *rest.Config {
	t.Helper()
	c, err := testbed()
	if err != nil {
		t.Fatal(err)
	}
	config, err := c.Config(user)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// clients are the clients to compare. The first one that sends a request gets the server's
// response, and the others get it from the tape.
type clients struct {
	stock, drop, keep dynamic.Interface
	tape              *tape
}

func newClients(t *testing.T, user string) clients {
	t.Helper()
	tape := &tape{recorded: map[string]*recording{}}
	config := config(t, user)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		tape.next = next
		return tape
	})
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	c := clients{tape: tape}
	if c.stock, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		t.Fatal(err)
	}
	if c.drop, err = codec.NewClient(config, client, codec.Options{}); err != nil {
		t.Fatal(err)
	}
	if c.keep, err = codec.NewClient(config, client, codec.Options{KeepManagedFields: true}); err != nil {
		t.Fatal(err)
	}
	return c
}

// createHostile creates objects of each CRD from testdata/hostile.json, once.
var createHostile = sync.OnceValue(func() error {
	c, err := testbed()
	if err != nil {
		return err
	}
	config, err := c.Config("admin")
	if err != nil {
		return err
	}
	text, err := os.ReadFile("testdata/hostile.json")
	if err != nil {
		return err
	}
	client := dynamic.NewForConfigOrDie(config)
	return errors.Join(
		createFive(client.Resource(untamed), "Wild", `"managedFields":[1],"rows":[],"object":CONTENT`, string(text)),
		createFive(client.Resource(flocks).Namespace("zoo"), "Flock", `"spec":CONTENT`, string(text)),
		createFive(client.Resource(gadgets).Namespace("zoo"), "Gadget",
			`"spec":{"integer":-9223372036854775808,"number":1e3,"text":"","nothing":null,"map":{},"any":CONTENT}`, string(text)),
	)
})

// createFive creates one object of more than 300 KB and others that are larger than the read
// buffer.
func createFive(resource dynamic.ResourceInterface, kind, members, content string) error {
	for i := range 5 {
		long := strings.Repeat(`\"x]}`, 15_000)
		if i == 0 {
			long = strings.Repeat(long, 4)
		}
		members := strings.ReplaceAll(members, "CONTENT", strings.ReplaceAll(content, "LONG", long))
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"zoo.example.com/v1","kind":%q,"metadata":{"name":"a.%d",
			"annotations":{"note":"<&>\u2028\u0000","managedFields":""},"labels":{"x":""}},%s}`, kind, i, members)); err != nil {
			return err
		}
		if _, err := resource.Create(context.Background(), u, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
