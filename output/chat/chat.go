// Package chat encodes events as messages for people: the lines of the change view, in the format of a chat service. Events that
// the change view does not show, such as initial objects and noise, cause no message.
package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/output"
	"dwatch/output/changes"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Options configures an encoder.
type Options struct {
	// Format is one of Formats. If empty, Template makes the message.
	Format   string
	Template *template.Template // from ParseTemplate
	Cluster  string             // the name of the cluster for events that do not have one
	View     changes.Options    // configures the lines
	Warn     func(line string)  // gets the errors of Template; nil discards them
}

// message is an event with its lines in the change view.
type message struct {
	event   *event.Event
	text    string // each line ends with a line feed
	cluster string // escaped
	compare change.Options
}

// encoders return the message for a service, as a value for encoding/json.
var encoders = map[string]func(*message) any{
	"slack":   slack,
	"teams":   teams,
	"discord": discord,
	"grafana": grafana,
}

// Formats returns the names of the formats.
func Formats() []string { return []string{"slack", "teams", "discord", "grafana", "text"} }

// NewEncoder returns a function that appends an event as a message that ends with a line feed, or appends nothing. The function
// must not be called from several goroutines.
func NewEncoder(o Options) (func(dst []byte, e event.Event) ([]byte, error), error) {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return nil, fmt.Errorf("unknown format %q", o.Format)
	}
	var text strings.Builder
	o.View.FullTimestamps, o.View.Prefiltered = true, true
	view := changes.New(&text, o.View)
	return func(dst []byte, e event.Event) ([]byte, error) {
		text.Reset()
		if err := view.Deliver(context.Background(), []event.Event{e}); err != nil || text.Len() == 0 {
			return dst, err
		}
		return o.encode(dst, &message{&e, text.String(), output.EscapeLine(cmp.Or(e.Target.Cluster, o.Cluster)), o.View.Compare})
	}, nil
}

func (o *Options) encode(dst []byte, m *message) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	switch {
	case o.Format == "text":
		b.WriteString(m.text)
	case o.Format != "":
		e := json.NewEncoder(b) // it adds the line feed
		e.SetEscapeHTML(false)
		if err := e.Encode(encoders[o.Format](m)); err != nil {
			return dst, err
		}
	default:
		values, err := m.values()
		if err != nil {
			return dst, err
		}
		if err := o.Template.Execute(b, values); err != nil {
			b.Truncate(len(dst))
			o.fail(b, m, err)
		}
		if len(bytes.TrimSpace(b.Bytes()[len(dst):])) == 0 {
			return dst, nil
		}
		if !bytes.HasSuffix(b.Bytes(), []byte{'\n'}) {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}

// fail writes the lines of a message whose template failed, with the error, so that the event is not lost.
func (o *Options) fail(b *bytes.Buffer, m *message, err error) {
	i := m.event.Object.Identity
	line := output.EscapeLine(fmt.Sprintf("%s %s: template failed, sent as text: %v", i.Kind, strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"), err))
	if o.Warn != nil {
		o.Warn(line)
	}
	fmt.Fprintf(b, "%s(%s)\n", m.text, line)
}

// Values are the values for a template.
type Values struct {
	Type      event.Type
	Time      time.Time
	Cluster   string
	Kind      string
	Namespace string // empty for cluster-scoped objects
	Name      string
	Text      string         // the lines of the change view
	Changes   []Change       // only for MODIFIED
	Object    map[string]any // with masked Secrets
	Settled   *Settled       // nil without --settle
}

// Settled describes the changes of an object and its owned objects that --settle combined.
type Settled struct {
	Since time.Time
	Took  time.Duration
	// Changes is the number of changes, and Objects the number of changed objects.
	Changes, Objects int
	State, Why       string // a status such as Current, and its message; State is empty if the object was deleted
	Quiet            bool   // false if the changes had not ended
}

// Change is one of the changes of an object.
type Change struct {
	Path     string
	Old, New any    // nil if the field did not exist
	By       string // the field manager; empty if unknown
}

func (m *message) values() (*Values, error) {
	o := m.event.Object
	v := &Values{
		Type: m.event.Type, Time: m.event.Time.Round(0).UTC(), Cluster: m.cluster, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Text: m.text,
	}
	object, err := o.Decode()
	if err != nil {
		return nil, err
	}
	v.Object = m.compare.Masks.MaskObject(object.Object)
	if settled := m.event.Settled; settled != nil {
		g := settled.Group
		v.Settled = &Settled{g.Since.Round(0).UTC(), g.Until.Sub(g.Since).Round(time.Second), g.Changes, len(g.Events), g.Status, g.Message, g.FlushReason == ""}
	}
	if m.event.Type == event.Modified && !m.event.Old.IsZero() {
		for _, c := range change.Diff(m.event.Old.Raw(), o.Raw(), m.compare).Changes {
			v.Changes = append(v.Changes, Change{c.Path.String(), c.Old, c.New, c.Writer.Manager})
		}
	}
	return v, nil
}

var functions = template.FuncMap{
	"json": func(v any) (string, error) {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		err := e.Encode(v)
		return strings.TrimSuffix(b.String(), "\n"), err
	},
	"at": func(object map[string]any, path string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(object, strings.Split(path, ".")...)
		if value == nil {
			return ""
		}
		return value
	},
	"slack": func(text string) string { return slackEscape.Replace(text) },
}

// ParseTemplate parses a template for text/template, which gets Values. It can call three functions: json encodes a value as JSON,
// at returns the value of an object at a path such as spec.replicas, or "", and slack escapes text for Slack. ParseTemplate executes
// the template once to find references to unknown fields of Values.
func ParseTemplate(text string) (*template.Template, error) {
	t, err := template.New("--template").Option("missingkey=zero").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	example := &Values{Type: event.Modified, Kind: "Deployment", Name: "web", Changes: []Change{{Path: "spec.replicas", Old: 1, New: 2}}, Settled: &Settled{}}
	if err := t.Execute(io.Discard, example); err != nil && strings.Contains(err.Error(), "can't evaluate field") {
		return nil, err
	}
	return t, nil
}
