package flags

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
)

// Template holds the flags of formats that take a template or have columns.
type Template struct {
	text         string
	noHeaders    bool
	allowMissing bool    // leave out fields that an object lacks instead of failing
	inFormat     *string // the template after the "=" of --output, or nil
}

func (t *Template) addTo(f *pflag.FlagSet) {
	f.StringVar(&t.text, "template", "", "Use `TEMPLATE`, or the template in the file with that path, for a format without one after its =; without -o, it means -o go-template")
	f.BoolVar(&t.noHeaders, "no-headers", false, "Don't print column headers")
	f.BoolVar(&t.allowMissing, "allow-missing-template-keys", true, "If true, leave out fields that a jsonpath or Go template names and an object lacks; if false, a missing field is an error")
	notEmpty(f, "template")
}

func takesTemplate(format string) bool { return slices.Contains(output.TemplateFormats, format) }

// kubectlNames maps kubectl's aliases of formats to their names.
var kubectlNames = map[string]string{"template": "go-template", "templatefile": "go-template-file"}

// parse returns the parsed template for format, or nil if format takes none. It reads the template's file if there is one.
func (t *Template) parse(format string) (*output.Template, error) {
	text := t.text
	switch {
	case !takesTemplate(format):
		return nil, nil
	case t.inFormat != nil && t.text != "":
		return nil, fmt.Errorf("-o %s= and --template both give a template: give one", format)
	case t.inFormat == nil && t.text == "":
		return nil, fmt.Errorf("-o %s takes a template: -o %[1]s=TEMPLATE", format)
	case t.inFormat != nil && *t.inFormat == "":
		return nil, fmt.Errorf("the template of -o %s= is empty", format)
	case t.inFormat != nil:
		text = *t.inFormat
	}
	if strings.HasSuffix(format, "-file") {
		content, err := os.ReadFile(text)
		if err != nil {
			return nil, fmt.Errorf("read the template: %w", err)
		}
		text = string(content)
	}
	return output.ParseTemplate(output.TemplateSource{Format: format, Text: text, FailOnMissing: !t.allowMissing})
}
