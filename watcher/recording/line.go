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
	recordingLine event.Type = "RECORDING" // a segment begins: its header
	resourceLine  event.Type = "RESOURCE"  // what a resource is called, before the first line about it
	presentLine   event.Type = "PRESENT"   // an object that was there when the segment began
	snapshotLine  event.Type = "SNAPSHOT"  // that were all of them
	checkedLine   event.Type = "CHECKED"   // the sum of all lines of the frame so far
	listingLine   event.Type = "LISTING"   // what follows of a target is listed, and has no order
	lateLine      event.Type = "LATE"      // what follows may have waited for a while
	stoppedLine   event.Type = "STOPPED"   // the run has ended
)

// line is one line of a segment.
type line struct {
	event.Event
	resource *metav1.APIResource // of RESOURCE
	header   *header             // of RECORDING
	sum      uint32              // of CHECKED
	last     time.Time           // of LATE: the last time that the clock may have shown twice; zero: it was not put back
	text     string              // as it was read
}

// object reports whether it shows an object.
func (l *line) hasObject() bool {
	return l.Type == presentLine || !l.isInternal() && !l.Type.IsStatus()
}

func (l *line) isInternal() bool {
	switch l.Type {
	case recordingLine, resourceLine, presentLine, snapshotLine, checkedLine, listingLine, lateLine, stoppedLine:
		return true
	}
	return false
}

// reader reads lines, and knows the resources that they named so far.
type lineReader struct {
	byResource map[string]*meta.RESTMapping // as marks name it
	byKind     map[schema.GroupVersionKind]*meta.RESTMapping
	versions   map[string]schema.GroupVersion
}

func newReader() *lineReader {
	return &lineReader{map[string]*meta.RESTMapping{}, map[schema.GroupVersionKind]*meta.RESTMapping{}, map[string]schema.GroupVersion{}}
}

var (
	errLine     = errors.New("a line is not one of a recording")
	errNoAnswer = errors.New("the server does not answer")
	errNoReason = errors.New("why was not recorded")
)

// read reads a line. Its object shares the memory of text.
func (r *lineReader) read(text string) (l line, err error) {
	var about, message gjson.Result
	object := ""
	var target statusTarget
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			l.Type = event.Type(strings.Clone(value.Str))
		case "time":
			l.Time, err = time.Parse(time.RFC3339, value.Str)
		case "object":
			object = value.Raw
		case "message":
			message = value
		case "resource":
			about, target.resource = value, value.Str
		case "namespace":
			target.namespace = strings.Clone(value.Str)
		case "name":
			target.name = strings.Clone(value.Str)
		default:
			l.setMember(key.Str, value)
		}
		return true
	})
	switch {
	case message.Exists():
		l.Err = errors.New(strings.Clone(message.Str))
	case l.Type == event.Disconnected:
		l.Err = errNoAnswer
	case l.Type == event.Denied: // by another hand than dwatch's
		l.Err = errNoReason
	}
	if err != nil || l.Type == "" || l.Time.IsZero() {
		return l, errLine
	}
	return l, r.setSubject(&l, text, about.Raw, object, target)
}

// complete sets what a line is about.
func (r *lineReader) setSubject(l *line, text, about, object string, target statusTarget) error {
	switch {
	case (l.Type == recordingLine || l.Type == resourceLine) && len(text) > maxHeaderBytes:
		return errHeader
	case l.Type == recordingLine:
		l.header = &header{}
		if err := json.Unmarshal([]byte(text), l.header); err != nil {
			return err
		}
		for i := range l.header.Resources {
			r.addResource(&l.header.Resources[i])
		}
	case l.Type == resourceLine:
		l.resource = &metav1.APIResource{}
		if err := json.Unmarshal([]byte(about), l.resource); err != nil {
			return err
		}
		r.addResource(l.resource)
	case object != "":
		return r.setObject(l, object)
	case target.resource != "":
		return r.setTarget(l, target)
	case !l.isInternal() && l.Type != event.Heartbeat:
		return errLine
	}
	return nil
}

// member reads what only marks have.
func (l *line) setMember(name string, value gjson.Result) {
	switch name {
	case "initial":
		l.Initial = value.Bool()
	case "finalStateUnknown":
		l.FinalStateUnknown = value.Bool()
	case "sum":
		l.sum = uint32(value.Uint())
	case "count", "lines":
		l.Count = int(value.Int())
	case "from":
		l.From = strings.Clone(value.Str)
	case "resourceVersion":
		l.ResourceVersion = strings.Clone(value.Str)
	case "last":
		l.last, _ = time.Parse(time.RFC3339, value.Str)
	case "connected":
		l.Connected = value.Bool()
	case "lastEvent":
		l.LastEvent, _ = time.Parse(time.RFC3339, value.Str)
	case "heard":
		l.Heard, _ = time.Parse(time.RFC3339, value.Str)
	}
}

type statusTarget struct{ resource, namespace, name string }

// target sets of which target a mark is.
func (r *lineReader) setTarget(l *line, t statusTarget) error {
	mapping := r.byResource[t.resource]
	if mapping == nil {
		return fmt.Errorf("a mark is about %q, which is not explained before", t.resource)
	}
	l.Target = event.Target{Mapping: mapping, Namespace: t.namespace, Name: t.name}
	return nil
}

// object sets of which resource an object is, and what identifies it.
func (r *lineReader) setObject(l *line, content string) error {
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

func (r *lineReader) addResource(a *metav1.APIResource) {
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
