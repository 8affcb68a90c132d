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

// TemplateFormats take a template, as with kubectl; those that end in -file have it in a file.
var TemplateFormats = []string{
	"custom-columns", "custom-columns-file", "go-template", "go-template-file",
	"jsonpath", "jsonpath-as-json", "jsonpath-file",
}

// Template is a template of one of TemplateFormats, parsed. It is used from one goroutine.
type Template struct {
	// fill appends to w what the template makes of one object, or of a list.
	fill func(w io.Writer, o runtime.Unstructured) error
	// columns are set where a line has columns.
	columns []column
	// looksAt is all that it looks at in an object; nil: anything.
	looksAt members
}

// TemplateText is what a Template is made of.
type TemplateSource struct {
	// Format is one of TemplateFormats. Of a -file format Text is what the file holds.
	Format, Text string
	// MissingFail makes it an error that a jsonpath or Go template names what an object lacks.
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
		err = errors.New("it takes no template")
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
	return &Template{fill: func(w io.Writer, o runtime.Unstructured) error {
		var filled bytes.Buffer // where it fails, it prints all of the object
		if err := printer.PrintObj(o, &filled); err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("error executing template %q: ", text.Text)))
		}
		_, err := filled.WriteTo(w)
		return err
	}}, nil
}

// templateEncoder prints what a template makes of each object, or of a mark's JSON line. A line
// ends with a newline, whether the template has one or not; of nothing it makes no line.
type templateEncoder struct {
	Options
	filled bytes.Buffer
}

func (t *templateEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	object, err := t.openLookedAt(e)
	if err != nil {
		return dst, err
	}
	t.filled.Reset()
	if err := t.Template.fill(&t.filled, object); err != nil {
		return dst, t.failed(e, err)
	}
	text := t.filled.String()
	dst = append(dst, t.safe(text)...)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		dst = append(dst, '\n')
	}
	return dst, nil
}

// failed says what a template could not be filled with.
func (o *Options) failed(e event.Event, err error) error {
	what := strings.ToLower(string(e.Type)) + " mark"
	if !e.Object.IsZero() {
		what = strings.ToLower(e.Object.Kind) + "/" + EscapeLine(e.Object.Name)
		if e.Object.Namespace != "" {
			what += " in namespace " + e.Object.Namespace
		}
	}
	return fmt.Errorf("-o %s of %s: %w", o.Format, what, err)
}

// list prints what kubectl prints, without a newline at the end.
func (t *templateEncoder) list(w io.Writer, objects []event.Object) error {
	list, err := t.openList(objects)
	if err != nil {
		return err
	}
	var whole runtime.Unstructured = list
	if t.isSingle(objects) {
		whole = &list.Items[0]
	}
	t.filled.Reset()
	if err := t.Template.fill(&t.filled, whole); err != nil {
		return fmt.Errorf("-o %s: %w", t.Format, err)
	}
	_, err = io.WriteString(w, t.safe(t.filled.String()))
	return err
}
