package output

import (
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
)

// parseJSONPath checks the template. One with a range is parsed again for each object:
// once it has met that, a JSONPath does not begin at its beginning any more.
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
	ranges := strings.Contains(text.Text, "range") // or something of that name, which does no harm
	return &Template{
		looksAt: members{}.with(text.Text),
		fill: func(w io.Writer, o runtime.Unstructured) error {
			if ranges {
				if path, err = parse(); err != nil {
					return err
				}
			}
			// Not PrintObj: its errors show all of the object.
			return path.Execute(w, o.UnstructuredContent())
		},
	}, nil
}
