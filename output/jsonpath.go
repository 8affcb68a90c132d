package output

import (
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
)

// parseJSONPath parses a JSONPath template. A template with a range is parsed again for each object, because a JSONPath keeps
// its position in a range after the execution.
func parseJSONPath(text TemplateSource) (*Template, error) {
	parse := func() (*jsonpath.JSONPath, error) {
		path := jsonpath.New("out").AllowMissingKeys(!text.FailOnMissing)
		path.EnableJSONOutput(text.Format == "jsonpath-as-json")
		return path, path.Parse(text.Text)
	}
	path, err := parse()
	if err != nil {
		return nil, err
	}
	ranges := strings.Contains(text.Text, "range") // a false match only costs time
	return &Template{
		reads: members{}.with(text.Text),
		execute: func(w io.Writer, o runtime.Unstructured) error {
			if ranges {
				if path, err = parse(); err != nil {
					return err
				}
			}
			// PrintObj is no alternative: its errors contain the whole object.
			return path.Execute(w, o.UnstructuredContent())
		},
	}, nil
}
