package output

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// Options says how to print. The zero value is compact JSON.
type Options struct {
	// Format is one of Formats; empty means json.
	Format string
	// Terminal: people read this. JSON is indented, and what could steer a
	// terminal is escaped.
	Terminal bool
	// Color colours JSON with ANSI escape sequences.
	Color bool
}

// encoder is one format.
type encoder interface {
	// event appends one event to dst and returns it.
	event(dst []byte, e event.Event) ([]byte, error)
	// mark appends what a mark says, or nothing if the format has no words for it.
	mark(dst []byte, e event.Event) ([]byte, error)
	// list writes all objects as one document.
	list(w io.Writer, objects []event.Object) error
}

var encoders = map[string]func(Options) encoder{
	"json": newJSON,
	"yaml": func(Options) encoder { return &yamlEncoder{} },
	"name": func(Options) encoder { return nameEncoder{} },
}

// Formats are the values that Options.Format takes.
var Formats = []string{"json", "yaml", "name"}

// Printer writes events or lists in one format. See the package comment.
type Printer struct {
	w       *bufio.Writer
	encoder encoder
	buffer  []byte
}

const (
	bufferSize = 64 << 10
	// keepBuffer is the largest line buffer that is kept for the next event.
	keepBuffer = 1 << 20
)

// New returns a Printer that writes to w.
func New(w io.Writer, o Options) (*Printer, error) {
	if o.Format == "" {
		o.Format = "json"
	}
	if !slices.Contains(Formats, o.Format) {
		return nil, fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s",
			o.Format, strings.Join(Formats, ", "))
	}
	return &Printer{w: bufio.NewWriterSize(w, bufferSize), encoder: encoders[o.Format](o)}, nil
}

// Print writes one event.
func (p *Printer) Print(e event.Event) error {
	encode := p.encoder.event
	if e.Type.IsMark() {
		encode = p.encoder.mark
	}
	line, err := encode(p.buffer[:0], e)
	if err != nil {
		return err
	}
	if cap(line) <= keepBuffer {
		p.buffer = line
	}
	_, err = p.w.Write(line)
	return err
}

// List writes objects as one document, in their order, and flushes.
func (p *Printer) List(objects []event.Object) error {
	if err := p.encoder.list(p.w, objects); err != nil {
		return err
	}
	return p.w.Flush()
}

// Flush hands to the reader what has been printed.
func (p *Printer) Flush() error { return p.w.Flush() }
