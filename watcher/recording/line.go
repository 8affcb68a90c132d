package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// The types of lines that a recording has beside those of the stream.
const (
	begun    event.Type = "RECORDING" // a segment begins: its header
	resource event.Type = "RESOURCE"  // what a resource is called, before the first line about it
	present  event.Type = "PRESENT"   // an object that was there when the segment began
	stopped  event.Type = "STOPPED"   // the run has ended, and all that it got is recorded
)

// line is one line of a segment.
type line struct {
	event.Event
	resource *metav1.APIResource // of RESOURCE
	header   *header             // of RECORDING
}

// object reports whether it shows an object.
func (l *line) object() bool { return l.Type == present || !l.own() && !l.Type.IsMark() }

func (l *line) own() bool {
	return l.Type == begun || l.Type == resource || l.Type == present || l.Type == stopped
}

// reader reads lines, and knows the resources that they named so far.
type reader struct {
	byResource map[string]*meta.RESTMapping // as marks name it
	byKind     map[schema.GroupVersionKind]*meta.RESTMapping
	versions   map[string]schema.GroupVersion
}

func newReader() *reader {
	return &reader{map[string]*meta.RESTMapping{}, map[schema.GroupVersionKind]*meta.RESTMapping{}, map[string]schema.GroupVersion{}}
}

var errLine = errors.New("a line is not one of a recording")

// read reads a line. Its objects share the memory of text.
func (r *reader) read(text string) (l line, err error) {
	if !gjson.Valid(text) {
		return l, errLine
	}
	var about, message gjson.Result
	object := ""
	var target markTarget
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			l.Type = event.Type(value.Str)
		case "time":
			l.Time, err = time.Parse(time.RFC3339, value.Str)
		case "initial":
			l.Initial = value.Bool()
		case "finalStateUnknown":
			l.FinalStateUnknown = value.Bool()
		case "object":
			object = value.Raw
		case "message":
			message = value
		case "resource":
			about, target.resource = value, value.Str
		case "namespace":
			target.namespace = value.Str
		case "name":
			target.name = value.Str
		default:
			l.member(key.Str, value)
		}
		return true
	})
	if message.Exists() {
		l.Err = errors.New(message.Str)
	}
	switch {
	case err != nil || l.Type == "" || l.Time.IsZero():
		return l, errLine
	case l.Type == begun:
		l.header = &header{}
		return l, json.Unmarshal([]byte(text), l.header)
	case l.Type == resource:
		l.resource = &metav1.APIResource{}
		err := json.Unmarshal([]byte(about.Raw), l.resource)
		r.learn(l.resource)
		return l, err
	case object != "":
		return l, r.object(&l, object)
	case target.resource != "":
		return l, r.target(&l, target)
	}
	return l, nil
}

// member reads what only marks have.
func (l *line) member(name string, value gjson.Result) {
	switch name {
	case "count":
		l.Count = int(value.Int())
	case "from":
		l.From = value.Str
	case "resourceVersion":
		l.ResourceVersion = value.Str
	case "connected":
		l.Connected = value.Bool()
	case "lastEvent":
		l.LastEvent, _ = time.Parse(time.RFC3339, value.Str)
	case "heard":
		l.Heard, _ = time.Parse(time.RFC3339, value.Str)
	}
}

type markTarget struct{ resource, namespace, name string }

// target sets of which target a mark is.
func (r *reader) target(l *line, t markTarget) error {
	mapping := r.byResource[t.resource]
	if mapping == nil {
		return fmt.Errorf("a mark is about %q, which is not explained before", t.resource)
	}
	l.Target = event.Target{Mapping: mapping, Namespace: t.namespace, Name: t.name}
	return nil
}

// object sets of which resource an object is, and what identifies it.
func (r *reader) object(l *line, content string) error {
	var id event.Identity
	var apiVersion, kind string
	gjson.Parse(content).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "apiVersion":
			apiVersion = value.Str
		case "kind":
			kind = value.Str
		case "metadata":
			value.ForEach(func(key, value gjson.Result) bool {
				switch key.Str {
				case "namespace":
					id.Namespace = strings.Clone(value.Str)
				case "name":
					id.Name = strings.Clone(value.Str)
				case "uid":
					id.UID = types.UID(strings.Clone(value.Str))
				case "resourceVersion":
					id.ResourceVersion = strings.Clone(value.Str)
				}
				return true
			})
		}
		return apiVersion == "" || kind == "" || id.Name == ""
	})
	gv, known := r.versions[apiVersion]
	mapping := r.byKind[gv.WithKind(kind)]
	if !known || mapping == nil || id.Name == "" {
		return fmt.Errorf("an object is of %s %s, which is not explained before", apiVersion, kind)
	}
	id.APIVersion, id.Kind = mapping.GroupVersionKind.ToAPIVersionAndKind()
	l.Target, l.Object = event.Target{Mapping: mapping}, event.NewObject(&id, content)
	return nil
}

func (r *reader) learn(a *metav1.APIResource) {
	gvr := schema.GroupVersionResource{Group: a.Group, Version: a.Version, Resource: a.Name}
	m := event.NewMapping(gvr, a.Kind, a.Namespaced)
	r.byResource[resourceText(gvr)] = m
	if r.byKind[m.GroupVersionKind] == nil {
		r.byKind[m.GroupVersionKind] = m
		r.versions[gvr.GroupVersion().String()] = gvr.GroupVersion()
	}
}

// resourceText names a resource as marks do.
func resourceText(r schema.GroupVersionResource) string {
	return r.Resource + "." + r.Version + "." + r.Group
}
