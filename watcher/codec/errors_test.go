package codec_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestest "k8s.io/client-go/features/testing"
)

// TestErrors checks that lists and watches return the same errors as the stock client.
func TestErrors(t *testing.T) {
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	for name, test := range map[string]struct {
		user     string
		resource schema.GroupVersionResource
		options  metav1.ListOptions
		want     func(error) bool
	}{
		"no such resource":   {"admin", schema.GroupVersionResource{Version: "v1", Resource: "unicorns"}, metav1.ListOptions{}, apierrors.IsNotFound},
		"no such group":      {"admin", schema.GroupVersionResource{Group: "a.b", Version: "v1", Resource: "unicorns"}, metav1.ListOptions{}, apierrors.IsNotFound},
		"forbidden":          {"limited", secrets, metav1.ListOptions{}, apierrors.IsForbidden},
		"bad label selector": {"admin", secrets, metav1.ListOptions{LabelSelector: "a=="}, nil},
		"bad field selector": {"admin", secrets, metav1.ListOptions{FieldSelector: "no.such=field"}, apierrors.IsBadRequest},
		"bad token":          {"admin", secrets, metav1.ListOptions{Continue: "nonsense"}, nil},
		"bad version":        {"admin", secrets, metav1.ListOptions{ResourceVersion: "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClients(t, test.user)
			_, got := c.drop.Resource(test.resource).List(t.Context(), test.options)
			_, want := c.stock.Resource(test.resource).List(t.Context(), test.options)
			compareErrors(t, want, got)
			if want == nil && name != "bad label selector" || test.want != nil && !test.want(got) {
				t.Error(got)
			}
			c.tape.erase()
			got = watchError(t, c, true, test.resource, test.options)
			want = watchError(t, c, false, test.resource, test.options)
			compareErrors(t, want, got)
		})
	}
}

func watchError(t *testing.T, c clients, raw bool, r schema.GroupVersionResource, options metav1.ListOptions) error {
	client := c.stock
	if raw {
		client = c.drop
	}
	w, err := client.Resource(r).Watch(t.Context(), options)
	if err == nil {
		w.Stop()
	}
	return err
}

func compareErrors(t *testing.T, want, got error) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Errorf("stock (-), raw (+):\n%s\n%v\n%v", cmp.Diff(want, got), want, got)
	}
}

// TestExpired checks the event with which a server reports an expired resourceVersion. The resource
// is newer than that resourceVersion.
func TestExpired(t *testing.T) {
	if err := createHostile(); err != nil {
		t.Fatal(err)
	}
	c := newClients(t, "admin")
	options := metav1.ListOptions{ResourceVersion: "1", TimeoutSeconds: new(int64(5))}
	events := watchUntilBookmark(t, c.drop, gadgets, options)
	if len(events) != 1 || events[0].Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(events[0].Object)) {
		t.Fatalf("%v", events)
	}
	want := watchUntilBookmark(t, c.stock, gadgets, options)
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("stock (-), raw (+):\n%s", diff)
	}
}

// TestTable checks that an unrequested Table is decoded as by the stock client.
func TestTable(t *testing.T) {
	c := newClients(t, "admin")
	c.tape.edit = func(r *http.Request) { r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io") }
	got, err := c.drop.Resource(pods).List(t.Context(), metav1.ListOptions{})
	want, wantErr := c.stock.Resource(pods).List(t.Context(), metav1.ListOptions{})
	compareErrors(t, wantErr, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stock (-), raw (+):\n%s", diff)
	}
	c.compareWatches(t, pods, initialEvents)
}

// TestBrokenBody checks bodies of errors that are not JSON or only look like objects.
func TestBrokenBody(t *testing.T) {
	for _, body := range []string{
		``, `no JSON`, `{"kind":"A","metadata":{"managedFields":[`, `{"kind":"A","metadata":{"managedFields":[]`, `{"kind":"A","metadata":{"name":"x"}}`,
		`{"kind":"A","apiVersion":"v1","metadata":{"name":"\xff"}}`, `{"kind":"AList","items":[{"metadata":{"managedFields":`,
		`{"status":"Failure","message":"m","reason":"Gone","code":410}`,
	} {
		for _, code := range []int{200, 404, 410, 500, 503} {
			c := newClients(t, "admin")
			c.tape.next = canned{code, body}
			got, err := c.drop.Resource(pods).List(t.Context(), metav1.ListOptions{})
			want, wantErr := c.stock.Resource(pods).List(t.Context(), metav1.ListOptions{})
			compareErrors(t, wantErr, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d %s: stock (-), raw (+):\n%s", code, body, diff)
			}
			if code != 200 {
				c.tape.erase()
				compareErrors(t, watchError(t, c, false, pods, metav1.ListOptions{}), watchError(t, c, true, pods, metav1.ListOptions{}))
			}
		}
	}
}

// TestAccept checks that JSON is requested even if client-go prefers another format.
func TestAccept(t *testing.T) {
	featurestest.SetFeatureDuringTest(t, features.ClientsAllowCBOR, true)
	featurestest.SetFeatureDuringTest(t, features.ClientsPreferCBOR, true)
	c := newClients(t, "admin")
	c.tape.edit = func(r *http.Request) {
		if got := r.Header.Get("Accept"); got != runtime.ContentTypeJSON {
			t.Errorf("Accept: %s", got)
		}
	}
	if _, err := c.drop.Resource(pods).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}
