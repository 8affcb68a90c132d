package history

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

// partialObject returns an object with the identity and creation time of o, and the known fields. It has no
// resourceVersion, because the one of o belongs to a later state.
func partialObject(o event.Object, content string, known map[string]any) event.Object {
	id := *o.Identity
	id.ResourceVersion = ""
	metadata := map[string]any{"name": id.Name, "uid": id.UID}
	if given, ok := known["metadata"].(map[string]any); ok {
		metadata = maps.Clone(given)
		metadata["name"], metadata["uid"] = id.Name, id.UID
	}
	if id.Namespace != "" {
		metadata["namespace"] = id.Namespace
	}
	if created := gjson.Get(content, "metadata.creationTimestamp"); created.Exists() {
		metadata["creationTimestamp"] = json.RawMessage(created.Raw)
	}
	all := map[string]any{}
	maps.Copy(all, known)
	all["apiVersion"], all["kind"], all["metadata"] = id.APIVersion, id.Kind, metadata
	return event.NewObject(&id, encode(all))
}

func encode(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // decoded JSON can be encoded
	}
	return string(bytes.TrimSpace(b.Bytes()))
}
