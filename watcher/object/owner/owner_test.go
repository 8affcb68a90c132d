package owner

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func object(group, kind, name string) Ref {
	return Ref{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Namespace: "shop", Name: name}
}

func isWeb(r Ref) bool { return r.NameKey() == object("apps", "Deployment", "web").NameKey() }

func owners(refs ...Ref) (all []Owner) {
	for _, r := range refs {
		all = append(all, Owner{Ref: r})
	}
	return all
}

// tree contains the owners of some objects, by name.
var tree = map[string][]Owner{
	"pod":    owners(object("", "Node", "one"), object("apps", "ReplicaSet", "rs")),
	"rs":     owners(object("apps", "Deployment", "web")),
	"old":    owners(object("extensions", "Deployment", "web")),
	"circle": owners(object("", "X", "other")),
	"other":  owners(object("", "X", "circle")),
	"nobody": nil,
}

// TestSelfOrOwnerMatches checks that an object is found above the objects that it owns, directly or not.
func TestSelfOrOwnerMatches(t *testing.T) {
	for name, want := range map[string]bool{"pod": true, "rs": true, "old": false, "circle": false, "nobody": false, "unknown": false} {
		lookups := map[string]int{}
		got, err := SelfOrOwnerMatches(t.Context(), object("", "X", name), isWeb, func(_ context.Context, o Ref) ([]Owner, error) {
			lookups[o.Name]++
			return tree[o.Name], nil
		})
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
		for looked, n := range lookups {
			if n > 1 {
				t.Errorf("%s: the owners of %s were looked up %d times", name, looked, n)
			}
		}
	}
	failing := func(context.Context, Ref) ([]Owner, error) { return nil, errors.New("lookup failed") }
	if got, err := SelfOrOwnerMatches(t.Context(), object("apps", "Deployment", "web"), isWeb, failing); err != nil || !got {
		t.Errorf("an object that matches itself needs no lookup: got %v, %v", got, err)
	}
	if _, err := SelfOrOwnerMatches(t.Context(), object("apps", "Deployment", "api"), isWeb, failing); err == nil {
		t.Error("the error of a lookup is lost")
	}
}

// TestMaxDepth checks that an endless chain of owners is followed for at most maxDepth levels.
func TestMaxDepth(t *testing.T) {
	lookups := 0
	_, err := SelfOrOwnerMatches(t.Context(), object("", "X", "0"), isWeb, func(context.Context, Ref) ([]Owner, error) {
		lookups++
		return owners(object("", "X", fmt.Sprint(lookups))), nil
	})
	if err != nil || lookups > maxDepth {
		t.Errorf("got %d lookups, %v", lookups, err)
	}
}

func TestFromObject(t *testing.T) {
	yes := true
	got := FromObject(&metav1.ObjectMeta{Namespace: "shop", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "1", Controller: &yes}, {APIVersion: "v1", Kind: "Node", Name: "one"},
	}})
	set := Owner{object("apps", "ReplicaSet", "rs"), true}
	set.UID = "1"
	want := []Owner{set, {object("", "Node", "one"), false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRefersTo checks which of several objects with the same name, created one after the other, a reference refers to.
func TestRefersTo(t *testing.T) {
	web := object("", "Pod", "web")
	web.UID = "2"
	for name, test := range map[string]struct {
		change func(*Ref)
		want   bool
	}{
		"the same":                {func(*Ref) {}, true},
		"another version":         {func(r *Ref) { r.Version = "v2" }, true},
		"another UID":             {func(r *Ref) { r.UID = "1" }, false},
		"no UID":                  {func(r *Ref) { r.UID = "" }, true},
		"no UID, another kind":    {func(r *Ref) { r.UID, r.Kind = "", "Node" }, false},
		"the name as the UID":     {func(r *Ref) { r.UID = "web" }, true},
		"another name as the UID": {func(r *Ref) { r.UID, r.Name = "api", "api" }, false},
		"no UID, another name":    {func(r *Ref) { r.UID, r.Name = "", "api" }, false},
		"only a name":             {func(r *Ref) { *r = Ref{Name: "web"} }, false},
	} {
		r := web
		test.change(&r)
		if got := r.RefersTo(web); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
