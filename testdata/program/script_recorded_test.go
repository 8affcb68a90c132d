package program

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/recording"
)

// writeRecorded writes a recording of the events in a file, moved in time so that the last one happened a minute ago.
// The file also contains the BOOKMARK events that confirm coverage, so the coverage does not depend on how busy the
// machine is. Secrets are masked. A line NAME=TIME sets an environment variable to that time, moved as well.
func writeRecorded(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: recorded DIR FILE")
	}
	named, by, err := writeRecording(ts.MkAbs(args[0]), ts.ReadFile(args[1]), time.Now().Add(-time.Minute))
	ts.Check(err)
	for name, text := range named {
		at, err := time.Parse(time.RFC3339, text)
		ts.Check(err)
		ts.Setenv(name, at.Add(by).Format(time.RFC3339Nano))
	}
}

var namedTime = regexp.MustCompile(`(?m)^([A-Z]+)=(\S+)\n`)

// writeRecording writes a recording of the events in text, moved so that the last one is at the time last. It returns
// the times named in text, not yet moved, and the offset.
func writeRecording(dir, text string, last time.Time) (named map[string]string, by time.Duration, err error) {
	named = map[string]string{}
	for _, match := range namedTime.FindAllStringSubmatch(text, -1) {
		named[match[1]] = match[2]
	}
	events, err := object.ReadEvents(namedTime.ReplaceAllString(text, ""))
	if err != nil {
		return nil, 0, err
	}
	by = last.Sub(events[len(events)-1].Time)
	return named, by, record(dir, moved(events, by))
}

var januaryTime = regexp.MustCompile(`"2026-01-\d\dT[0-9:.]+Z"`)

// recordToday writes a recording of the events in text. Their times are in January 2026, in UTC. January 31 becomes the
// current day in a zone. The server confirms every ten seconds that the recording is complete.
func recordToday(dir, text, zone string) error {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return err
	}
	year, month, day := time.Now().In(location).Date()
	by := time.Date(year, month, day, 0, 0, 0, 0, location).Sub(time.Date(2026, time.January, 31, 0, 0, 0, 0, time.UTC))
	var wrong error
	events, err := object.ReadEvents(januaryTime.ReplaceAllStringFunc(text, func(at string) string {
		t, err := time.Parse(`"`+time.RFC3339+`"`, at)
		wrong = errors.Join(wrong, err)
		return t.Add(by).Format(`"` + time.RFC3339Nano + `"`)
	}))
	if err := errors.Join(wrong, err); err != nil {
		return err
	}
	return record(dir, confirmed(events, recording.HeartbeatInterval))
}

// confirmed adds BOOKMARK events for all targets, so that no time between two events is longer than interval.
func confirmed(events []event.Event, interval time.Duration) (all []event.Event) {
	targets := watched(events)
	for i, e := range events {
		if i > 0 {
			for at := events[i-1].Time.Add(interval); at.Before(e.Time); at = at.Add(interval) {
				for _, t := range targets {
					all = append(all, event.Event{Type: event.Bookmark, Target: t, Time: at, Heard: at})
				}
			}
		}
		all = append(all, e)
	}
	return all
}

// moved adds by to the times of events.
func moved(events []event.Event, by time.Duration) []event.Event {
	for i := range events {
		e := &events[i]
		if e.Time = e.Time.Add(by); !e.Heard.IsZero() {
			e.Heard = e.Heard.Add(by)
		}
	}
	return events
}

// record records events with a clock that shows their times.
func record(dir string, events []event.Event) (err error) {
	encode, err := output.NewEncoder(output.Options{})
	if err != nil {
		return err
	}
	r, err := recording.OpenRecorder(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	targets := watched(events)
	about := recording.RunInfo{ClusterUID: "c", DefaultNamespace: targets[0].Namespace, Selection: selection(targets)}
	masks := &change.Masks{Secrets: true, Key: []byte(rand.Text())}
	now := events[0].Time
	options := recording.Options{
		EncodeEvent:      encode,
		EncodeObject:     func(o event.Object) string { return masks.MaskJSON(o.Raw()) },
		Now:              func() time.Time { return now },
		DescribeResource: describe,
	}
	if err := r.StartRun(options, about, targets); err != nil {
		return err
	}
	for _, e := range events {
		now = e.Time
		if err := r.Deliver(context.Background(), []event.Event{e}); err != nil {
			return err
		}
	}
	return nil
}

// watched gives all events of a target the same event.Target, and returns these targets.
func watched(events []event.Event) (targets []event.Target) {
	for i := range events {
		e := &events[i]
		if e.Target.Mapping == nil {
			continue
		}
		j := slices.IndexFunc(targets, func(t event.Target) bool { return t.Key() == e.Target.Key() })
		if j < 0 {
			j, targets = len(targets), append(targets, e.Target)
		}
		e.Target = targets[j]
	}
	return targets
}

func selection(targets []event.Target) (s event.Selection) {
	for _, t := range targets {
		s.Namespaces = append(s.Namespaces, t.Namespace)
		s.Resources = append(s.Resources, event.SelectedResource{Resource: t.Resource().GroupResource().String()})
	}
	slices.Sort(s.Namespaces)
	slices.SortFunc(s.Resources, func(a, b event.SelectedResource) int { return cmp.Compare(a.Resource, b.Resource) })
	s.Namespaces, s.Resources = slices.Compact(s.Namespaces), slices.Compact(s.Resources)
	return s
}

func describe(r schema.GroupVersionResource) metav1.APIResource {
	return metav1.APIResource{ShortNames: []string{object.ShortName(r)}}
}
