package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
)

// outputFlags say how an event looks.
type outputFlags struct {
	compareFlags
	templateFlags
	tableFlags
	output        string
	view          viewFlags
	live          bool
	managedFields bool
	color         string
}

func (o *options) addOutputFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", "", "Output `FORMAT`: "+strings.Join(formats, ", ")+", and those of kubectl that take a template: "+strings.Join(output.TemplateFormats, "=, ")+"=; by default json, and at a terminal changes")
	o.addTemplateFlags(f)
	o.addTableFlags(f)
	o.addLiveFlag(f)
	o.addViewFlags(f)
	o.addCompareFlags(f)
	f.BoolVar(&o.managedFields, "show-managed-fields", false, "Keep metadata.managedFields")
	f.StringVar(&o.color, "color", "auto", "Print colours; `WHEN` is auto (at a terminal, unless NO_COLOR is set), always or never")
	notEmpty(f, "output")
}

func (o *options) parseOutput(r *request, terminal terminal) (err error) {
	r.managedFields, r.view, r.live = o.managedFields, o.view, o.live
	if r.print, err = o.printing(terminal); err != nil {
		return err
	}
	return o.comparing(r)
}

// terminal is what parse has to know of the world.
type terminal struct {
	isTerminal bool
	noColor    bool
	isDumb     bool // it can't be drawn on
}

func (o *options) printing(t terminal) (output.Options, error) {
	p := output.Options{Format: o.output, Terminal: t.isTerminal, NoHeaders: o.noHeaders}
	switch o.color {
	case "auto":
		p.Color = t.isTerminal && !t.noColor
	case "always":
		p.Color = true
	case "never":
	default:
		return p, fmt.Errorf("invalid --color %q: it takes auto, always or never", o.color)
	}
	if err := o.checkFormat(); err != nil {
		return p, err
	}
	var err error
	if p.Template, err = o.parseTemplate(); err != nil {
		return p, err
	}
	return p, o.parseTable(&p)
}
