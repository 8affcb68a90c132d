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

// Options says how to print. The zero value is compact JSON.
type Options struct {
	// Format is one of Formats; empty means json.
	Format string
	// Terminal: people read this. JSON is indented, and what could steer a terminal is escaped.
	Terminal bool
	// Color colours JSON with ANSI escape sequences.
	Color bool

	// Old shows with a Modified the state before, if the event has that.
	Old bool
	// Changes shows with a Modified what changed, and Patch how the state before becomes the new
	// one. Compare says which changes count, and what is masked in both.
	Changes, Patch bool
	Compare        change.Options
	// Masks hide values in objects; nil: none.
	Masks *change.Masks
	// Unmanaged leaves out the managed fields, of which Changes knows who did it.
	OmitManagedFields bool

	// Template is that of a format which takes one.
	Template *Template
	// Table is for the formats "table" and "wide", whose objects need an event.Object.Row.
	Table TableOptions
	// Clusters: what is printed is of several. The objects of a list are those of InCluster.
	MultiCluster bool
	// ClusterNames are those that are known at the start: with Color each has its own, in tables.
	ClusterNames []string
	// Order sorts lists, of tables each for itself; nil: they stay as they are.
	Order *Order
	// Timestamps shows the date, milliseconds and the zone where tables and columns show a time.
	Timestamps bool
	// NoHeaders leaves out the line with the names of columns.
	NoHeaders bool
	// SingleObject is true if the arguments name exactly one object. If a list contains that object, json, yaml, kyaml and
	// templates get the object itself instead of a List, as with kubectl.
	SingleObject bool
}

func (o *Options) isSingle(objects []event.Object) bool { return o.SingleObject && len(objects) == 1 }

// encoder is one format.
type encoder interface {
	// event appends one event to dst; of a mark nothing if the format has no form for it.
	event(dst []byte, e event.Event) ([]byte, error)
	// list writes all objects as one document.
	list(w io.Writer, objects []event.Object) error
}

// batcher is an encoder that keeps lines until it knows all of a batch. end appends them to dst.
type batcher interface {
	end(dst []byte) []byte
}

var encoders = map[string]func(Options) encoder{
	"json":  func(o Options) encoder { return &jsonEncoder{Options: o} },
	"yaml":  func(o Options) encoder { return &yamlEncoder{Options: o} },
	"kyaml": func(o Options) encoder { return &kyamlEncoder{o} },
	"name":  func(o Options) encoder { return nameEncoder{o} },
	"table": newTable,
	"wide":  newTable,
	"none":  func(Options) encoder { return noEncoder{} },
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
	if err := CheckFormat(o.Format, Formats); err != nil {
		return nil, err
	}
	return encoders[o.Format](o), nil
}

// Formats are the values that Options.Format takes, but for TemplateFormats.
var Formats = []string{"json", "yaml", "kyaml", "name", "table", "wide", "none"}

// CheckFormat says that name is none of formats, if it is not.
func CheckFormat(name string, formats []string) error {
	if slices.Contains(formats, name) {
		return nil
	}
	return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s",
		name, strings.Join(formats, ", "))
}

// writeList writes a list, one object after the other, as item appends it.
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
	line    []byte // its memory is used again
}

var _ event.Sink = (*Printer)(nil)

// keepLine is the largest line whose memory is kept for the next event.
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

// Deliver implements event.Sink: all of batch is with the writer when it returns.
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
	if b, ok := p.encoder.(batcher); ok {
		p.write(b.end(p.line[:0])) // Flush returns its error, too
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

// List writes objects as one document, in their order or that of Options.
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
