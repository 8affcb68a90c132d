// Package object makes objects for tests.
package object

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/event"
	"dwatch/watcher/shallow"
)

// Parse returns the object that is written as one line of JSON.
func Parse(t testing.TB, text string) event.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return event.NewObject(shallow.Identity(u), text)
}
