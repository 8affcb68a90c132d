package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
)

// templateFlags are for formats that take a template or have columns.
type templateFlags struct {
	template  string
	noHeaders bool
	// allowMissing: nothing is printed of what a template names and an object lacks.
	allowMissing bool
	// inFormat is the template that came behind the "=" of --output.
	inFormat *string
}

func (o *options) addTemplateFlags(f *pflag.FlagSet) {
	t := &o.templateFlags
	f.StringVar(&t.template, "template", "", "`TEMPLATE`, or the file with it, for a format that takes one and has none behind its =; by itself it means -o go-template")
	f.BoolVar(&t.noHeaders, "no-headers", false, "Leave out the line with the names of columns")
	f.BoolVar(&t.allowMissing, "allow-missing-template-keys", true, "Leave out what a jsonpath or Go template names and an object does not have; with =false that is an error")
	notEmpty(f, "template")
}

// takesTemplate reports whether a format does.
func takesTemplate(format string) bool { return slices.Contains(output.TemplateFormats, format) }

// kubectlNames are other names that kubectl has for formats.
var kubectlNames = map[string]string{"template": "go-template", "templatefile": "go-template-file"}

// splitFormat cuts the template from the format.
func (o *options) splitFormat() {
	if o.output == "" && o.template != "" {
		o.output = "go-template"
	}
	format, text, inside := strings.Cut(o.output, "=")
	if long, ok := kubectlNames[format]; ok {
		format = long
	}
	if takesTemplate(format) {
		o.output = format
		if inside {
			o.inFormat = &text
		}
	}
}

// checkTemplate finds flags that are for another format.
func (o *options) checkTemplate() error {
	switch {
	case !takesTemplate(o.output) && o.template != "":
		return fmt.Errorf("--template is for a format that takes one: %s", strings.Join(output.TemplateFormats, ", "))
	case o.noHeaders && !isTable(o.output) && !strings.HasPrefix(o.output, "custom-columns"):
		return errors.New("--no-headers is for formats with columns: table, wide, custom-columns and custom-columns-file")
	case o.given("allow-missing-template-keys") && !strings.HasPrefix(o.output, "jsonpath") && !strings.HasPrefix(o.output, "go-template"):
		return errors.New("--allow-missing-template-keys is for jsonpath and Go templates")
	case !o.allowMissing && (o.marks || o.heartbeat != 0):
		return errors.New("marks lack what objects have: --allow-missing-template-keys=false does not go with --marks and --heartbeat")
	case !takesTemplate(o.output):
		return nil
	case o.inFormat != nil && o.template != "":
		return fmt.Errorf("-o %s= and --template are two templates", o.output)
	case o.inFormat == nil && o.template == "":
		return fmt.Errorf("-o %s takes a template: -o %[1]s=TEMPLATE", o.output)
	case o.inFormat != nil && *o.inFormat == "":
		return fmt.Errorf("the template of -o %s= is empty", o.output)
	}
	for _, name := range []string{"old", "changes", "patch"} {
		if o.given(name) {
			return fmt.Errorf("-o %s shows the object: it does not go with --%s", o.output, name)
		}
	}
	return nil
}

// parseTemplate returns the template of the format; nil if that takes none. It reads
// the file that holds it.
func (o *options) parseTemplate() (*output.Template, error) {
	if !takesTemplate(o.output) {
		return nil, nil
	}
	text := o.template
	if o.inFormat != nil {
		text = *o.inFormat
	}
	if strings.HasSuffix(o.output, "-file") {
		content, err := os.ReadFile(text)
		if err != nil {
			return nil, fmt.Errorf("read the template: %w", err)
		}
		text = string(content)
	}
	return output.ParseTemplate(output.TemplateText{Format: o.output, Text: text, MissingFail: !o.allowMissing})
}

// completedFormats are the values of --output as a shell completes them.
func completedFormats() []string {
	completed := slices.Clone(formats)
	for _, format := range output.TemplateFormats {
		completed = append(completed, format+"=")
	}
	return completed
}
