package lookup

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PrinterColumn is a column of the table that kubectl prints for a custom resource, with a value from its status.
type PrinterColumn struct{ Name, JSONPath string }

// StatusColumns returns the printer columns of a custom resource that show a text or a boolean of its status. The
// authors of the resource consider these fields its state. It returns nil if the definition can't be read.
func StatusColumns(ctx context.Context, c *Client, r schema.GroupVersionResource) (columns []PrinterColumn) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	crd, err := c.content.Resource(definitions).Get(ctx, r.GroupResource().String(), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["name"] != r.Version {
			continue
		}
		all, _ := version["additionalPrinterColumns"].([]any)
		for _, one := range all {
			column, _ := one.(map[string]any)
			name, _ := column["name"].(string)
			path, _ := column["jsonPath"].(string)
			if kind := column["type"]; (kind == "string" || kind == "boolean") && len(path) > len(statusPath) && path[:len(statusPath)] == statusPath {
				columns = append(columns, PrinterColumn{name, path})
			}
		}
	}
	return columns
}

const statusPath = ".status."
