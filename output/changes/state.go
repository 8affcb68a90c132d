package changes

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/change"
	"dwatch/watcher/object/status"
)

// describe says in a few words what an object is; nothing if that is not known. Why
// it is so is left out if that is made of what is masked.
func describe(u *unstructured.Unstructured, masks *change.Masks) string {
	word, message := status.Of(u)
	if message != "" && masks != nil {
		if _, shown := status.Of(&unstructured.Unstructured{Object: masks.Object(u.Object)}); shown != message {
			message = ""
		}
	}
	switch {
	case message != "":
		return word.String() + ": " + clean(strings.Join(strings.Fields(message), " "))
	case word == kstatus.UnknownStatus:
		return ""
	}
	return word.String()
}
