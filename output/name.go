package output

import (
	"fmt"
	"io"
	"strings"

	"dwatch/watcher/event"
)

// nameEncoder prints a line per event with kind.group/name, as kubectl does. If there are several clusters, the name of the
// cluster comes first. Names are escaped, because those of some resources may contain line feeds. It embeds Options because
// their methods encode the objects.
type nameEncoder struct{ Options }

func (n nameEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	if e.Type.IsStatus() {
		return dst, nil
	}
	return n.append(dst, e.Target.Cluster, e.Object), nil
}

func (n nameEncoder) list(w io.Writer, objects []event.Object) error {
	return writeList(w, objects, "", "", func(dst []byte, o event.Object) ([]byte, error) {
		cluster := ""
		if n.MultiCluster {
			cluster = clusterOf(o)
		}
		return n.append(dst, cluster, o), nil
	})
}

func (n nameEncoder) append(dst []byte, cluster string, o event.Object) []byte {
	if n.MultiCluster {
		dst = append(append(dst, EscapeLine(cluster)...), ' ')
	}
	kind := strings.ToLower(o.GroupVersionKind().GroupKind().String())
	return fmt.Appendf(dst, "%s/%s\n", kind, EscapeLine(o.Name))
}
