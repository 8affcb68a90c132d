package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"dwatch/watcher/event"
)

// TemplateFormats are the formats that need a template, as in kubectl. Those with the suffix -file read it from a file.
var TemplateFormats = []string{
	"custom-columns", "custom-columns-file", "go-template", "go-template-file",
	"jsonpath", "jsonpath-as-json", "jsonpath-file",
}

// Template is a parsed template of one of TemplateFormats. It must not be used from several goroutines.
type Template struct {
	// execute writes the result for an object or a list to w.
	execute func(w io.Writer, o runtime.Unstructured) error
	// columns is not nil for custom columns.
	columns []column
	// reads are the members of an object that the template may read.
	reads members
}

// TemplateSource is the text of a Template.
type TemplateSource struct {
	// Format is one of TemplateFormats. For a -file format, Text is the content of the file.
	Format, Text string
	// FailOnMissing makes it an error if a jsonpath or Go template refers to a missing field.
	FailOnMissing bool
}

// ParseTemplate parses a template.
func ParseTemplate(text TemplateSource) (t *Template, err error) {
	switch text.Format {
	case "jsonpath", "jsonpath-as-json", "jsonpath-file":
		t, err = parseJSONPath(text)
	case "go-template", "go-template-file":
		t, err = parseGoTemplate(text)
	case "custom-columns":
		t, err = parseColumns(text.Text)
	case "custom-columns-file":
		t, err = parseColumnLines(text.Text)
	default:
		err = errors.New("the format has no template")
	}
	if err != nil {
		return nil, fmt.Errorf("invalid -o %s: %w", text.Format, err)
	}
	return t, nil
}

func parseGoTemplate(text TemplateSource) (*Template, error) {
	printer, err := printers.NewGoTemplatePrinter([]byte(text.Text))
	if err != nil {
		return nil, err
	}
	printer.AllowMissingKeys(!text.FailOnMissing)
	return &Template{execute: func(w io.Writer, o runtime.Unstructured) error {
		var result bytes.Buffer // after an error, the printer writes the whole object
		if err := printer.PrintObj(o, &result); err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("error executing template %q: ", text.Text)))
		}
		_, err := result.WriteTo(w)
		return err
	}}, nil
}

// templateEncoder prints the result of a template for each object, or for the JSON of a status event. It adds a line feed if
// the result lacks one, and prints nothing for an empty result. It embeds Options because their methods encode the objects.
type templateEncoder struct {
	Options
	result bytes.Buffer
}

func (t *templateEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	object, err := t.openForTemplate(e)
	if err != nil {
		return dst, err
	}
	t.result.Reset()
	if err := t.Template.execute(&t.result, object); err != nil {
		return dst, t.failed(e, err)
	}
	text := t.result.String()
	dst = append(dst, t.safe(text)...)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		dst = append(dst, '\n')
	}
	return dst, nil
}

// failed adds the object of an event to the error of a template.
func (o *Options) failed(e event.Event, err error) error {
	what := strings.ToLower(string(e.Type)) + " event"
	if !e.Object.IsZero() {
		what = strings.ToLower(e.Object.Kind) + "/" + EscapeLine(e.Object.Name)
		if e.Object.Namespace != "" {
			what += " in namespace " + e.Object.Namespace
		}
	}
	return fmt.Errorf("-o %s of %s: %w", o.Format, what, err)
}

// list prints the result for the List or, like kubectl, for a single object that was named. It adds no line feed.
func (t *templateEncoder) list(w io.Writer, objects []event.Object) error {
	list, err := t.openList(objects)
	if err != nil {
		return err
	}
	var whole runtime.Unstructured = list
	if t.isSingle(objects) {
		whole = &list.Items[0]
	}
	t.result.Reset()
	if err := t.Template.execute(&t.result, whole); err != nil {
		return fmt.Errorf("-o %s: %w", t.Format, err)
	}
	_, err = io.WriteString(w, t.safe(t.result.String()))
	return err
}
