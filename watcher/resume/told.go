package resume

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher"
)

// An object is NAMESPACE/NAME -> UID RESOURCEVERSION.

func encodeKey(namespace, name string) []byte { return []byte(namespace + "/" + name) }

func encodeValue(uid types.UID, resourceVersion string) []byte {
	return []byte(string(uid) + " " + resourceVersion)
}

func decode(key, value []byte) (watcher.Told, error) {
	namespace, name, isKey := bytes.Cut(key, []byte("/"))
	uid, resourceVersion, isValue := bytes.Cut(value, []byte(" "))
	if !isKey || !isValue || len(name) == 0 {
		return watcher.Told{}, damaged(fmt.Sprintf("at %q", key))
	}
	return watcher.Told{
		Namespace: string(namespace), Name: string(name),
		UID: types.UID(uid), ResourceVersion: string(resourceVersion),
	}, nil
}
