// Package chat makes messages for people of events: the lines of the change view, in the form that a
// chat takes. What that does not show, such as what exists at the start and what only ticks, is no
// message.
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

// Options say how events become messages.
type Options struct {
	// Form is one of Forms, or empty: Template makes the message.
	Format   string
	Template *template.Template // of ParseTemplate
	Cluster  string             // as people know it, where the event does not say it
	View     changes.Options    // how what changed is said
	Warn     func(line string)  // gets what Template can't make a message of; nil: nobody does
}

// said is an event, and what there is to say of it.
type said struct {
	event   *event.Event
	text    string // lines, with a newline at the end of each
	cluster string
	compare change.Options
}

// forms are the messages that chats take. Each makes something that has a form in JSON.
var forms = map[string]func(*said) any{
	"slack":   slack,
	"teams":   teams,
	"discord": discord,
	"grafana": grafana,
}

// Forms are the names of the forms that there are.
func Formats() []string { return []string{"slack", "teams", "discord", "grafana", "text"} }

// NewEncoder returns what appends an event as a message, with a newline at its end; or nothing, if
// there is nothing to say. It is called from one goroutine.
func NewEncoder(o Options) (func(dst []byte, e event.Event) ([]byte, error), error) {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return nil, fmt.Errorf("there is no form %q", o.Format)
	}
	var text strings.Builder
	o.View.FullTimestamps, o.View.Prefiltered = true, true
	view := changes.New(&text, o.View)
	return func(dst []byte, e event.Event) ([]byte, error) {
		text.Reset()
		if err := view.Deliver(context.Background(), []event.Event{e}); err != nil || text.Len() == 0 {
			return dst, err
		}
		return o.encode(dst, &said{&e, text.String(), output.EscapeLine(cmp.Or(e.Target.Cluster, o.Cluster)), o.View.Compare})
	}, nil
}

func (o *Options) encode(dst []byte, s *said) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	switch {
	case o.Format == "text":
		b.WriteString(s.text)
	case o.Format != "":
		e := json.NewEncoder(b) // it ends the line
		e.SetEscapeHTML(false)
		if err := e.Encode(forms[o.Format](s)); err != nil {
			return dst, err
		}
	default:
		values, err := s.values()
		if err != nil {
			return dst, err
		}
		if err := o.Template.Execute(b, values); err != nil {
			b.Truncate(len(dst))
			o.fail(b, s, err)
		}
		if len(bytes.TrimSpace(b.Bytes()[len(dst):])) == 0 {
			return dst, nil // the template has nothing to say
		}
		if !bytes.HasSuffix(b.Bytes(), []byte{'\n'}) {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}

// fail says what a template makes no message of as text: what can't be said as it should be is not lost.
func (o *Options) fail(b *bytes.Buffer, s *said, err error) {
	i := s.event.Object.Identity
	line := output.EscapeLine(fmt.Sprintf("%s %s: it is sent as text: %v", i.Kind, strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"), err))
	if o.Warn != nil {
		o.Warn(line)
	}
	fmt.Fprintf(b, "%s(%s)\n", s.text, line)
}

// Values are what a template gets.
type Values struct {
	Type      event.Type
	Time      time.Time
	Cluster   string
	Kind      string
	Namespace string // empty: it is in none
	Name      string
	Text      string         // the lines of the change view
	Changes   []Change       // of MODIFIED
	Object    map[string]any // with what is secret masked
	Settled   *Settled       // of what waited until it was quiet; nil: it did not
}

// Settled is what became of an object, and of what it owns, until that was quiet.
type Settled struct {
	Since time.Time
	Took  time.Duration
	// Changes is how many there were, of Objects.
	Changes, Objects int
	State, Why       string // by kstatus, such as Current; empty: it is gone
	Quiet            bool   // else it is told of as it is
}

// Change is one of the changes of an object.
type Change struct {
	Path     string
	Old, New any    // nil: it was not there, or is not
	By       string // the program that did it; empty: it is not known
}

func (s *said) values() (*Values, error) {
	o := s.event.Object
	v := &Values{
		Type: s.event.Type, Time: s.event.Time.Round(0).UTC(), Cluster: s.cluster, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Text: s.text,
	}
	object, err := o.Decode()
	if err != nil {
		return nil, err
	}
	v.Object = s.compare.Masks.MaskObject(object.Object)
	if settled := s.event.Settled; settled != nil {
		of := settled.Group
		v.Settled = &Settled{of.Since.Round(0).UTC(), of.Until.Sub(of.Since).Round(time.Second), of.Changes, len(of.Events), of.Status, of.Message, of.FlushReason == ""}
	}
	if s.event.Type == event.Modified && !s.event.Old.IsZero() {
		for _, c := range change.Diff(s.event.Old.Raw(), o.Raw(), s.compare).Changes {
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

// ParseTemplate reads a template of text/template, which gets Values, and the functions json, which
// makes JSON of anything; at, which returns what an object has at a path such as spec.replicas, or
// nothing; and slack, which escapes what Slack would take for more than text. It is tried once, so
// that a member that Values do not have is found now.
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
