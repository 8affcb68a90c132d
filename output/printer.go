package output

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Options configures a Printer. The zero value prints compact JSON. Its fields are independent
// settings.
type Options struct {
	// Format is one of Formats. If empty, it is json.
	Format string
	// Terminal is true if the output goes to a terminal. JSON is then indented, and unsafe characters are escaped.
	Terminal bool
	// Color colours JSON with ANSI escape sequences.
	Color bool

	// Old adds the old state to a Modified event, if the event has it.
	Old bool
	// Changes adds the changes to a Modified event, and Patch a JSON patch from the old to the new state. Compare selects the
	// changes and masks values in them.
	Changes, Patch bool
	Compare        change.Options
	// Masks hide values in objects. nil hides nothing.
	Masks *change.Masks
	// OmitManagedFields omits the managed fields from objects. Changes still uses them to name the writers.
	OmitManagedFields bool

	// Template is the template of a format that needs one.
	Template *Template
	// Table configures the formats "table" and "wide", which need objects with an event.Object.Row.
	Table TableOptions
	// MultiCluster is true if the events come from several clusters. The objects of a list must then come from WithCluster.
	MultiCluster bool
	// ClusterNames are the clusters that are known at the start. With Color, tables give each a colour.
	ClusterNames []string
	// Order sorts lists. Each table is sorted by itself. nil keeps the order of the objects.
	Order *Order
	// Timestamps adds date, milliseconds and zone to the times in tables and columns.
	Timestamps bool
	// NoHeaders omits the names of columns.
	NoHeaders bool
	// SingleObject is true if the arguments name exactly one object. If a list contains that object, json, yaml, kyaml and
	// templates get the object itself instead of a List, as with kubectl.
	SingleObject bool
}

func (o *Options) isSingle(objects []event.Object) bool { return o.SingleObject && len(objects) == 1 }

// encoder implements a format.
type encoder interface {
	// event appends an event to dst. Formats that can't show a status event append nothing for it.
	event(dst []byte, e event.Event) ([]byte, error)
	// list writes all objects as one document.
	list(w io.Writer, objects []event.Object) error
}

// batchEncoder is an encoder that buffers the lines of a batch. end appends them to dst.
type batchEncoder interface {
	end(dst []byte) []byte
}

// encoders are the formats besides TemplateFormats, in the order in which help and messages list them.
var encoders = []struct {
	format string
	create func(Options) encoder
}{
	{"json", func(o Options) encoder { return &jsonEncoder{Options: o} }},
	{"yaml", func(o Options) encoder { return &yamlEncoder{Options: o} }},
	{"kyaml", func(o Options) encoder { return &kyamlEncoder{o} }},
	{"name", func(o Options) encoder { return nameEncoder{o} }},
	{"table", newTable},
	{"wide", newTable},
	{"none", func(Options) encoder { return noEncoder{} }},
}

func newEncoder(o Options) (encoder, error) {
	o.Format = cmp.Or(o.Format, "json")
	switch {
	case o.Template != nil && o.Template.columns != nil:
		return &columnsEncoder{Options: o, layout: newLayout()}, nil
	case o.Template != nil:
		return &templateEncoder{Options: o}, nil
	case slices.Contains(TemplateFormats, o.Format):
		return nil, fmt.Errorf("-o %s takes a template", o.Format)
	}
	for _, e := range encoders {
		if e.format == o.Format {
			return e.create(o), nil
		}
	}
	return nil, CheckFormat(o.Format, Formats)
}

// Formats are the valid values of Options.Format that are not in TemplateFormats.
var Formats = formatNames()

func formatNames() (names []string) {
	for _, e := range encoders {
		names = append(names, e.format)
	}
	return names
}

// CheckFormat returns kubectl's error if name is not among formats.
func CheckFormat(name string, formats []string) error {
	if slices.Contains(formats, name) {
		return nil
	}
	return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s",
		name, strings.Join(formats, ", "))
}

// writeList writes head, the objects one at a time as item appends them, and tail.
func writeList(w io.Writer, objects []event.Object, head, tail string, item func(dst []byte, o event.Object) ([]byte, error)) error {
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	var text []byte
	for _, o := range objects {
		var err error
		if text, err = item(text[:0], o); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, tail)
	return err
}

// Printer writes events or lists in one format. See the package comment.
type Printer struct {
	w       *bufio.Writer
	encoder encoder
	order   *Order
	line    []byte // a buffer
}

var _ event.Sink = (*Printer)(nil)

// keepLine is the maximum size of a line whose buffer is reused.
const keepLine = 1 << 20

// New returns a Printer that writes to w.
func New(w io.Writer, o Options) (*Printer, error) {
	encoder, err := newEncoder(o)
	if err != nil {
		return nil, err
	}
	p := &Printer{w: bufio.NewWriterSize(w, 64<<10), encoder: encoder}
	if _, isTable := p.encoder.(*tableEncoder); !isTable && !o.SingleObject {
		p.order = o.Order
	}
	return p, nil
}

// Deliver implements event.Sink. It has written the whole batch when it returns.
func (p *Printer) Deliver(_ context.Context, batch []event.Event) error {
	for _, e := range batch {
		line, err := p.encoder.event(p.line[:0], e)
		if err != nil {
			return err
		}
		if err := p.write(line); err != nil {
			return err
		}
	}
	if b, ok := p.encoder.(batchEncoder); ok {
		p.write(b.end(p.line[:0])) // Flush returns the error
	}
	return p.w.Flush()
}

func (p *Printer) write(line []byte) error {
	if cap(line) <= keepLine {
		p.line = line
	}
	_, err := p.w.Write(line)
	return err
}

// PrintList writes objects as one document, sorted by Options.Order.
func (p *Printer) PrintList(objects []event.Object) error {
	if p.order != nil {
		objects = slices.Clone(objects)
		if err := p.order.sort(objects); err != nil {
			return err
		}
	}
	if err := p.encoder.list(p.w, objects); err != nil {
		return err
	}
	return p.w.Flush()
}
