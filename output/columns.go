package output

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"

	"dwatch/watcher/event"
)

// column is a column of -o custom-columns.
type column struct {
	header string
	path   *jsonpath.JSONPath
}

// parseColumns parses HEADER:PATH,HEADER:PATH...
func parseColumns(text string) (*Template, error) {
	var headers, paths []string
	for part := range strings.SplitSeq(text, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("column %q is not HEADER:PATH, such as NAME:.metadata.name", part)
		}
		headers, paths = append(headers, header), append(paths, path)
	}
	return newColumnsTemplate(headers, paths)
}

// parseColumnLines parses a file with a line of headers and a line of as many paths.
func parseColumnLines(text string) (*Template, error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) < 2 {
		return nil, errors.New("the file needs a line of headers and a line of as many paths")
	}
	headers, paths := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(headers) != len(paths) {
		return nil, fmt.Errorf("the file has %d headers and %d paths", len(headers), len(paths))
	}
	return newColumnsTemplate(headers, paths)
}

func newColumnsTemplate(headers, paths []string) (*Template, error) {
	t := &Template{columns: []column{}, reads: members{}}
	for i, header := range headers {
		path := jsonpath.New(header).AllowMissingKeys(true)
		expression, err := NormalizeJSONPath(paths[i])
		if err == nil {
			err = path.Parse(expression)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", header, err)
		}
		t.columns = append(t.columns, column{header, path})
		t.reads = t.reads.with(expression)
	}
	return t, nil
}

// NormalizeJSONPath returns a JSONPath from a path without braces or leading dot, which kubectl accepts, too.
func NormalizeJSONPath(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	path := text
	if strings.HasPrefix(path, "{") && strings.HasSuffix(path, "}") {
		path = path[1 : len(path)-1]
	}
	if path == "" || strings.ContainsAny(path, "{}") {
		return "", fmt.Errorf("%q is not a path such as .metadata.name or {.metadata.name}", text)
	}
	if len(path) > 1 {
		path = strings.TrimPrefix(path, ".")
	}
	return "{." + path + "}", nil
}

// columnsEncoder prints a line per object. The lines of a stream begin with the type and time of the event. It embeds
// Options because their methods encode the objects.
type columnsEncoder struct {
	Options
	grid    grid
	layout  *layout
	started bool
}

func (c *columnsEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	object, err := c.openForTemplate(e)
	if err != nil {
		return dst, err
	}
	if !c.started && !c.NoHeaders {
		c.grid.add(c.layout, append([]string{"EVENT", "TIME"}, c.headers()...)...)
	}
	c.started = true
	cells, err := c.cells(object)
	if err != nil {
		return dst, c.failed(e, err)
	}
	c.grid.event(c.layout, e, FormatClock(e.Time, c.Timestamps), cells...)
	return dst, nil
}

// end implements batchEncoder.
func (c *columnsEncoder) end(dst []byte) []byte { return c.grid.flush(dst) }

func (c *columnsEncoder) list(w io.Writer, objects []event.Object) error {
	var lines [][]string
	if !c.NoHeaders {
		lines = append(lines, c.headers())
	}
	for _, o := range objects {
		object, err := c.open(o)
		if err != nil {
			return err
		}
		cells, err := c.cells(object)
		if err != nil {
			return c.failed(event.Event{Object: o}, err)
		}
		lines = append(lines, cells)
	}
	return align(w, lines)
}

func (c *columnsEncoder) headers() []string {
	headers := make([]string, len(c.Template.columns))
	for i, column := range c.Template.columns {
		headers[i] = column.header
	}
	return headers
}

func (c *columnsEncoder) cells(object *unstructured.Unstructured) ([]string, error) {
	cells := make([]string, len(c.Template.columns))
	for i, column := range c.Template.columns {
		found, err := column.path.FindResults(object.Object)
		if err != nil && strings.Contains(err.Error(), "array index out of bounds") { // client-go has no type for it
			found, err = nil, nil // a stream should not end because one object has fewer items
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column.header, err)
		}
		var values []string
		if len(found) == 0 || len(found[0]) == 0 {
			values = append(values, "<none>")
		}
		for _, group := range found {
			for _, value := range group {
				text := printers.EscapeTerminal(fmt.Sprint(value.Interface()))
				values = append(values, c.safe(text))
			}
		}
		cells[i] = strings.Join(values, ",")
	}
	return cells, nil
}
