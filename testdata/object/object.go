// Package object creates objects and events for tests.
package object

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// Parse parses an object in JSON.
func Parse(t testing.TB, text string) event.Object {
	t.Helper()
	o, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func parse(text string) (event.Object, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		return event.Object{}, err
	}
	return event.NewObject(codec.IdentityOf(u), text), nil
}
