package page

import (
	"context"
	"errors"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
)

// maxAbout is how many Events of an object are sent, the newest.
const maxAbout = 50

var errNoEvents = errors.New("of that time, Events are shown where they are watched: name events, too")

// happened is an Event of Kubernetes, as docs/page.md has it.
type happened struct {
	Time    int64  `json:"time"`
	Warning bool   `json:"warning,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	By      string `json:"by,omitempty"`
	Count   int    `json:"count,omitempty"`
	// About is what it is about if that is something that the object owns, such as pod/web-x7.
	About string `json:"about,omitempty"`
}

// about are the Events about an object and what it owns, the newest first: the server is asked, or the recording.
type about struct{ *Hub }

func (h about) of(ctx context.Context, this *inventory.Entry, o event.Object) ([]happened, error) {
	found, err := h.find(ctx, this, o)
	items := []happened{}
	for _, e := range found[:min(len(found), maxAbout)] {
		one := happenedOf(&e)
		if e.InvolvedObject.Name != "" && (e.InvolvedObject.Kind != o.Kind || e.InvolvedObject.Name != o.Name) {
			one.About = e.InvolvedObjectName()
		}
		items = append(items, *one)
	}
	return items, err
}

// happenedOf is what an Event says, but for what it is about.
func happenedOf(e *kubeevent.Event) *happened {
	return &happened{millis(e.LastSeen), e.IsWarning(), clip(e.Reason, 4*maxValue), clip(e.Message, 4*maxValue), clip(e.ReportingComponent, maxValue), e.Count, ""}
}

func (h about) find(ctx context.Context, this *inventory.Entry, o event.Object) ([]kubeevent.Event, error) {
	switch {
	case h.ofPast != nil:
		about := []event.Object{o}
		for _, s := range h.inventory.OwnershipTree(this.ID) {
			about = append(about, s.Object)
		}
		found, err := h.inventory.EventsFor(inventory.Now, h.Targets, this.Cluster, about...)
		if h.isLive() && errors.Is(err, inventory.ErrEventsNotSelected) {
			err = errNoEvents
		}
		return found, err
	case h.FetchEvents == nil:
		return nil, nil
	}
	return h.FetchEvents(ctx, this.Cluster, o)
}
