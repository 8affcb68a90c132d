package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
)

const (
	FormatChanges = "changes" // prints the changed fields, for people; package output does not have it
	FormatNone    = "none"    // prints nothing
)

// StreamFormats are the values of --output for a stream, without the formats that take a template.
var StreamFormats = append([]string{FormatChanges}, output.Formats...)

// commonFormats are the formats that short help lists.
var commonFormats = []string{FormatChanges, "json", "yaml", "table"}

// Format holds --output and the flags for its templates.
type Format struct {
	Template
	Allowed []string // the formats of the command
	Name    string   // the chosen format; Resolve removes the template from it
}

// Flags returns an Adder for --output with formats. usage lists them in the help text.
func (o *Format) Flags(formats []string, usage string) Adder {
	return func(f *pflag.FlagSet) {
		o.Allowed = formats
		f.StringVarP(&o.Name, "output", "o", "", "Output `FORMAT`: "+usage)
		offers(f, "output", formats...)
		notEmpty(f, "output")
	}
}

// FlagsWithTemplates returns an Adder for --output with formats and kubectl's formats that take a template, and
// for the flags of these. usage is appended to the list of formats.
func (o *Format) FlagsWithTemplates(formats []string, usage string) Adder {
	return func(f *pflag.FlagSet) {
		o.Flags(formats, strings.Join(formats, ", ")+", and kubectl's formats with a template: "+
			strings.Join(output.TemplateFormats, "=, ")+"="+usage)(f)
		describeBriefly(f, "output", "Output `FORMAT`: "+strings.Join(slices.DeleteFunc(slices.Clone(formats), func(format string) bool {
			return !slices.Contains(commonFormats, format)
		}), ", ")+", ...")
		o.Allowed = slices.Concat(formats, output.TemplateFormats)
		completed := slices.Clone(formats)
		for _, format := range output.TemplateFormats {
			completed = append(completed, format+"=")
		}
		offers(f, "output", completed...)
		o.Template.addTo(f)
	}
}

// Resolve sets Name to the default if no format is given, and separates a template from the name.
func (o *Format) Resolve(byDefault string) {
	if o.Name == "" && o.Template.text != "" {
		o.Name = "go-template"
	}
	format, text, inside := strings.Cut(o.Name, "=")
	if long, ok := kubectlNames[format]; ok {
		format = long
	}
	if takesTemplate(format) {
		o.Name = format
		if inside {
			o.inFormat = &text
		}
	}
	if o.Name == "" {
		o.Name = byDefault
	}
}

func (o *Format) CheckName() error { return output.CheckFormat(o.Name, o.Allowed) }

// Parse checks the chosen format, parses its template, and sets both in p.
func (o *Format) Parse(p *output.Options) (err error) {
	if err := o.CheckName(); err != nil {
		return err
	}
	p.Format, p.NoHeaders = o.Name, o.noHeaders
	p.Template, err = o.Template.parse(o.Name)
	return err
}

// IsTable reports whether the server renders the rows of format.
func IsTable(format string) bool { return format == "table" || format == "wide" }

// onlyFor limits flags to some formats.
type onlyFor struct {
	names   []string
	allowed func(format string) bool
	message string // follows the name of the flag in the error
}

var formatRules = []onlyFor{
	{[]string{"initial", "full"}, func(f string) bool { return f == FormatChanges }, "is for -o changes"},
	{[]string{"timestamps"}, func(f string) bool {
		return f == FormatChanges || IsTable(f) || strings.HasPrefix(f, "custom-columns")
	}, "is for -o changes, table, wide, custom-columns and custom-columns-file"},
	{[]string{"show-kind", "show-labels", "label-columns"}, IsTable, "is for -o table and wide"},
	{[]string{"no-headers"}, func(f string) bool { return IsTable(f) || strings.HasPrefix(f, "custom-columns") }, "is for formats with columns: table, wide, custom-columns and custom-columns-file"},
	{[]string{"allow-missing-template-keys"}, func(f string) bool { return strings.HasPrefix(f, "jsonpath") || strings.HasPrefix(f, "go-template") }, "is for jsonpath and Go templates"},
	{[]string{"template"}, takesTemplate, "is for a format that takes one: " + strings.Join(output.TemplateFormats, ", ")},
}

// notWith lists flags that cannot be combined with some formats.
var notWith = []struct {
	names  []string
	is     func(format string) bool
	reason string // a format string; %s is the output format
	unless string // a flag that lifts the rule, or ""
}{
	{[]string{"old", "changes", "patch", "mask", "mask-secrets"}, func(f string) bool { return f == "name" || f == FormatNone }, "-o %s prints no values", ""},
	{[]string{"old", "changes", "patch", "mask", "mask-secrets"}, IsTable, "-o %s shows what the server puts into a table", ""},
	{[]string{"old", "changes", "patch"}, takesTemplate, "-o %s shows the object", ""},
	{[]string{"since", "before"}, func(f string) bool { return f == "name" || f == FormatNone || IsTable(f) || takesTemplate(f) }, "-o %s can't mark reconstructed events, but -o changes, json, yaml and kyaml can", "from"},
	{[]string{"marks", "heartbeat"}, func(f string) bool { return f == "name" || f == FormatNone }, "-o %s can't show status events, but -o json and yaml can", ""},
	{[]string{"marks", "heartbeat", "old", "changes", "patch"}, func(f string) bool { return f == FormatChanges }, "-o %s is for people, as -o json and yaml are for programs", ""},
}

// Check returns an error if a flag of f cannot be combined with the chosen format.
func (o *Format) Check(f *pflag.FlagSet) error {
	for _, rule := range formatRules {
		if name := given(f, rule.names...); name != "" && !rule.allowed(o.Name) {
			return fmt.Errorf("--%s %s", name, rule.message)
		}
	}
	for _, rule := range notWith {
		if name := given(f, rule.names...); name != "" && rule.is(o.Name) && (rule.unless == "" || given(f, rule.unless) == "") {
			return fmt.Errorf(rule.reason+": it cannot be combined with --%s", o.Name, name)
		}
	}
	if !o.allowMissing && given(f, "marks", "heartbeat") != "" {
		return errors.New("status events lack the fields of objects: --allow-missing-template-keys=false cannot be combined with --marks or --heartbeat")
	}
	return nil
}

// Color is the value of --color.
type Color string

func (c *Color) AddTo(f *pflag.FlagSet) {
	f.StringVar((*string)(c), "color", "auto", "Print colours; `WHEN` is auto (at a terminal, unless NO_COLOR is set), always or never")
	all := []string{"auto", "always", "never"}
	offers(f, "color", all...)
	takes(f, "color", func(text string) error {
		if !slices.Contains(all, text) {
			return invalid("color", text, errors.New("it takes auto, always or never"))
		}
		return nil
	})
}

// IsEnabled reports whether to print colours. wanted is the answer for auto.
func (c Color) IsEnabled(wanted bool) bool { return c == "always" || c == "auto" && wanted }

// View holds the flags of output that shows changes to people.
type View struct{ Initial, Timestamps, Full bool }

// AddTo adds --timestamps and --full.
func (v *View) AddTo(f *pflag.FlagSet) {
	f.BoolVar(&v.Timestamps, "timestamps", false, "Show times with the date, milliseconds and the time zone offset")
	f.BoolVar(&v.Full, "full", false, "Don't shorten values in changes; at a terminal, also show each of several successive changes")
}

// AddInitialTo adds --initial.
func (v *View) AddInitialTo(f *pflag.FlagSet) {
	f.BoolVar(&v.Initial, "initial", false, "With -o changes, show each object that exists at the start instead of their number")
}

// ManagedFields adds --show-managed-fields.
func ManagedFields(kept *bool) Adder {
	return func(f *pflag.FlagSet) {
		f.BoolVar(kept, "show-managed-fields", false, "Keep metadata.managedFields")
	}
}

// Columns adds the flags for columns that dwatch adds to the server's tables.
func Columns(t *output.TableOptions) Adder {
	return func(f *pflag.FlagSet) {
		f.BoolVar(&t.ShowLabels, "show-labels", false, "In tables, show all labels in the last column")
		f.StringSliceVarP(&t.LabelColumns, "label-columns", "L", nil, "In tables, show these `LABELS` as columns (repeatable, comma-separated)")
		takes(f, "label-columns", func(text string) (err error) {
			if slices.ContainsFunc(t.LabelColumns, func(name string) bool { return strings.TrimSpace(name) == "" }) {
				err = errors.New("it takes names of labels")
			}
			return invalid("label-columns", text, err)
		})
		notEmpty(f, "label-columns")
	}
}

// SortBy adds --sort-by. *to stays nil if the flag is not given.
func SortBy(to **output.Order) Adder {
	return func(f *pflag.FlagSet) {
		f.String("sort-by", "", "Sort by the value at `PATH`, a JSONPath such as .metadata.creationTimestamp")
		takes(f, "sort-by", func(text string) (err error) {
			*to, err = output.ParseOrder(text)
			return invalid("sort-by", text, err)
		})
		notEmpty(f, "sort-by")
	}
}
