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

// Types of lines that exist only in recordings.
const (
	recordingLine event.Type = "RECORDING" // the header of a segment
	resourceLine  event.Type = "RESOURCE"  // describes a resource, before its first object
	presentLine   event.Type = "PRESENT"   // an object that existed when the segment began
	snapshotLine  event.Type = "SNAPSHOT"  // follows the last PRESENT line, with their number
	checkedLine   event.Type = "CHECKED"   // has a checksum of all previous lines of the frame
	listingLine   event.Type = "LISTING"   // the following events of a target come from a list and are not in order
	lateLine      event.Type = "LATE"      // the following events may have been delayed
	stoppedLine   event.Type = "STOPPED"   // the end of a run
)

// line is a line of a segment. It is one type because a segment has lines of all kinds in one order.
type line struct {
	event.Event
	resource *metav1.APIResource // of RESOURCE
	header   *header             // of RECORDING
	sum      uint32              // of CHECKED
	last     time.Time           // of LATE: the latest time that the clock may have shown twice; zero if it was not put back
	text     string              // as read
}

// hasObject reports whether the line has an object.
func (l *line) hasObject() bool {
	return l.Type == presentLine || !l.isInternal() && !l.Type.IsStatus()
}

// isInternal reports whether lines of this type exist only in recordings.
func (l *line) isInternal() bool {
	switch l.Type {
	case recordingLine, resourceLine, presentLine, snapshotLine, checkedLine, listingLine, lateLine, stoppedLine:
		return true
	}
	return false
}

// lineReader parses lines. Their resources must have been described by earlier lines.
type lineReader struct {
	byResource map[string]*meta.RESTMapping // as resourceText returns
	byKind     map[schema.GroupVersionKind]*meta.RESTMapping
	versions   map[string]schema.GroupVersion
}

func newReader() *lineReader {
	return &lineReader{map[string]*meta.RESTMapping{}, map[schema.GroupVersionKind]*meta.RESTMapping{}, map[string]schema.GroupVersion{}}
}

var (
	errLine     = errors.New("a line is invalid")
	errNoAnswer = errors.New("the server does not answer")
	errNoReason = errors.New("the reason was not recorded")
)

// read parses a line. Its object shares the memory of text.
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
	case l.Type == event.Denied: // dwatch itself always writes a message
		l.Err = errNoReason
	}
	if err != nil || l.Type == "" || l.Time.IsZero() {
		return l, errLine
	}
	return l, r.setSubject(&l, text, about.Raw, object, target)
}

// setSubject sets the header, resource, object or target of a line.
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

// setMember sets a member that read does not handle itself.
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

// setTarget sets the target of a status event.
func (r *lineReader) setTarget(l *line, t statusTarget) error {
	mapping := r.byResource[t.resource]
	if mapping == nil {
		return fmt.Errorf("a status event has resource %q, which no earlier line describes", t.resource)
	}
	l.Target = event.Target{Mapping: mapping, Namespace: t.namespace, Name: t.name}
	return nil
}

// setObject sets the object and the resource of an object event.
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
		return fmt.Errorf("an object has kind %s %s, which no earlier line describes", apiVersion, kind)
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

// resourceText returns the name of a resource as written in status events.
func resourceText(r schema.GroupVersionResource) string {
	return r.Resource + "." + r.Version + "." + r.Group
}
