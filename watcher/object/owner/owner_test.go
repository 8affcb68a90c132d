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

// tree has the owners of some objects.
var tree = map[string][]Owner{
	"pod":    owners(object("", "Node", "one"), object("apps", "ReplicaSet", "rs")),
	"rs":     owners(object("apps", "Deployment", "web")),
	"old":    owners(object("extensions", "Deployment", "web")),
	"circle": owners(object("", "X", "other")),
	"other":  owners(object("", "X", "circle")),
	"nobody": nil,
}

// TestBelongs: what an object owns belongs to it, over any number of owners.
func TestBelongs(t *testing.T) {
	for name, want := range map[string]bool{"pod": true, "rs": true, "old": false, "circle": false, "nobody": false, "unknown": false} {
		asked := map[string]int{}
		got, err := SelfOrOwnerMatches(t.Context(), object("", "X", name), isWeb, func(_ context.Context, o Ref) ([]Owner, error) {
			asked[o.Name]++
			return tree[o.Name], nil
		})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		for of, n := range asked {
			if n > 1 {
				t.Errorf("%s: %s was asked for %d times", name, of, n)
			}
		}
	}
	without := func(context.Context, Ref) ([]Owner, error) { return nil, errors.New("it is asked for") }
	if got, err := SelfOrOwnerMatches(t.Context(), object("apps", "Deployment", "web"), isWeb, without); err != nil || !got {
		t.Errorf("itself: %v, %v", got, err)
	}
	if _, err := SelfOrOwnerMatches(t.Context(), object("apps", "Deployment", "api"), isWeb, without); err == nil {
		t.Error("an error is none")
	}
}

// TestBelongsEnds: objects that own each other without end are left at some point.
func TestBelongsEnds(t *testing.T) {
	asked := 0
	_, err := SelfOrOwnerMatches(t.Context(), object("", "X", "0"), isWeb, func(context.Context, Ref) ([]Owner, error) {
		asked++
		return owners(object("", "X", fmt.Sprint(asked))), nil
	})
	if err != nil || asked > maxDepth {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestOf(t *testing.T) {
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

// TestMeans: a reference is to one of several objects of a name that came one after the
// other, as far as it says to which.
func TestMeans(t *testing.T) {
	web := object("", "Pod", "web")
	web.UID = "2"
	for name, test := range map[string]struct {
		change func(*Ref)
		want   bool
	}{
		"itself":                    {func(*Ref) {}, true},
		"in another version":        {func(r *Ref) { r.Version = "v2" }, true},
		"an earlier one":            {func(r *Ref) { r.UID = "1" }, false},
		"of no UID":                 {func(r *Ref) { r.UID = "" }, true},
		"of no UID, another kind":   {func(r *Ref) { r.UID, r.Kind = "", "Node" }, false},
		"the name as the UID":       {func(r *Ref) { r.UID = "web" }, true},
		"another name as the UID":   {func(r *Ref) { r.UID, r.Name = "api", "api" }, false},
		"of another name, no UID":   {func(r *Ref) { r.UID, r.Name = "", "api" }, false},
		"with nothing but the name": {func(r *Ref) { *r = Ref{Name: "web"} }, false},
	} {
		r := web
		test.change(&r)
		if got := r.RefersTo(web); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
