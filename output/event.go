package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// member is a member of an event: a value as JSON, or an object if value is empty.
type member struct {
	name   string
	value  string
	object event.Object
}

// members appends the members of an event in the order that all formats share. All members but type and object are optional.
func (o *Options) members(all []member, e event.Event) ([]member, error) {
	all = append(all, member{name: "type", value: `"` + string(e.Type) + `"`})
	if e.Target.Cluster != "" {
		all = append(all, member{name: "cluster", value: quoted(e.Target.Cluster)})
	}
	if e.Initial {
		all = append(all, member{name: "initial", value: "true"})
	}
	if e.FinalStateUnknown {
		all = append(all, member{name: "finalStateUnknown", value: "true"})
	}
	if e.Reconstructed != nil {
		all = append(all, member{name: "reconstructed", value: `"` + string(e.Reconstructed.From) + `"`})
	}
	if !e.Time.IsZero() {
		all = append(all, member{name: "time", value: `"` + timestamp(e.Time) + `"`})
	}
	if s := e.Settled; s != nil {
		line, err := marshal(settledMember{event.Timestamp{Time: s.Since}, s.Changes, string(s.Group.FlushReason)})
		if err != nil {
			return all, err
		}
		all = append(all, member{name: "settled", value: string(line)})
	}
	all = append(all, member{name: "object", object: e.Object})
	if o.Old && !e.Old.IsZero() {
		all = append(all, member{name: "old", object: e.Old})
	}
	all, err := o.addEvidence(all, e)
	if err != nil {
		return all, err
	}
	return o.addCompared(all, e)
}

// settledMember is the member "settled" of an event that --settle made of several changes.
type settledMember struct {
	Since   event.Timestamp `json:"since"`
	Changes int             `json:"changes"`
	Cut     string          `json:"cut,omitempty"`
}

// addEvidence adds the evidence for a reconstructed event.
func (o *Options) addEvidence(all []member, e event.Event) ([]member, error) {
	r := e.Reconstructed
	if r == nil {
		return all, nil
	}
	if r.Revision > 0 {
		all = append(all, member{name: "revision", value: strconv.FormatInt(r.Revision, 10)})
	}
	if len(r.Writers) > 0 {
		line, err := marshal(r.Writers)
		if err != nil {
			return all, err
		}
		all = append(all, member{name: "writers", value: string(line)})
	}
	if r.Base.IsZero() {
		return all, nil
	}
	fields := []string{}
	for _, c := range change.Diff(r.Base.Raw(), e.Object.Raw(), o.Compare).Changes {
		fields = append(fields, c.Path.String())
	}
	line, err := marshal(fields)
	return append(all, member{name: "fields", value: string(line)}), err
}

// addCompared adds the members "changes" and "patch", if they are enabled and the old state is known.
func (o *Options) addCompared(all []member, e event.Event) ([]member, error) {
	changes := o.Changes || e.Reconstructed != nil // a reconstructed event shows its changes in any case
	if e.Old.IsZero() || !changes && !o.Patch {
		return all, nil
	}
	old, new := e.Old.Raw(), e.Object.Raw()
	var err error
	add := func(name string, value any) {
		line, failed := marshal(value)
		if failed != nil {
			err = fmt.Errorf("encode the %s of %s/%s: %w", name, e.Object.Namespace, EscapeLine(e.Object.Name), failed)
		}
		all = append(all, member{name: name, value: string(line)})
	}
	if changes {
		changes := change.Diff(old, new, o.Compare).Changes
		add("changes", append([]change.Change{}, changes...)) // [] if there are none
	}
	if o.Patch {
		add("patch", change.Patch(old, new, o.Compare.Masks, !o.OmitManagedFields))
	}
	return all, err
}

// appendEvent appends an event as JSON. appendObject appends each of its objects.
func (o *Options) appendEvent(dst []byte, e event.Event, appendObject func(dst []byte, o event.Object) ([]byte, error)) ([]byte, error) {
	if e.Type.IsStatus() {
		line, err := marshal(newStatusLine(e))
		return append(dst, line...), err
	}
	var space [12]member // enough for almost all events, to avoid an allocation
	all, err := o.members(space[:0], e)
	for i, m := range all {
		dst = append(append(append(dst, "{,"[min(i, 1)], '"'), m.name...), `":`...)
		if dst = append(dst, m.value...); m.value == "" && err == nil {
			dst, err = appendObject(dst, m.object)
		}
	}
	return append(dst, '}'), err
}

// quoted returns a text as JSON. It is fast for texts that need no escapes, as most names of clusters.
func quoted(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return JSON(text)
	}
	return `"` + text + `"`
}

// JSON returns a decoded JSON value as compact JSON, without escapes for HTML.
func JSON(value any) string {
	text, err := marshal(value)
	if err != nil {
		return strconv.Quote(fmt.Sprint(value))
	}
	return string(text)
}

// marshal returns a value as compact JSON, without escapes for HTML.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}
