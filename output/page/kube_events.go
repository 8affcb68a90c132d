package page

import (
	"context"
	"errors"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
)

// maxKubeEvents limits how many Events of an object are sent. The newest are sent.
const maxKubeEvents = 50

var errNoEvents = errors.New("past Events are known only if dwatch watches them: name the resource events, too")

// kubeEventItem is a Kubernetes Event in an API answer. docs/reference/page-api.md describes its members.
type kubeEventItem struct {
	Time    int64  `json:"time"`
	Warning bool   `json:"warning,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	By      string `json:"by,omitempty"`
	Count   int    `json:"count,omitempty"`
	// About is the involved object, such as pod/web-x7. API answers omit it if it is the requested object itself.
	About string `json:"about,omitempty"`
}

// kubeEventLookup finds the Events about an object, newest first. In a recording or at an earlier time it reads the
// inventory and includes the objects that this object owns. Otherwise it calls FetchEvents, if set.
type kubeEventLookup struct{ *Hub }

func (h kubeEventLookup) lookup(ctx context.Context, this *inventory.Entry, o event.Object) ([]kubeEventItem, error) {
	found, err := h.find(ctx, this, o)
	items := []kubeEventItem{}
	for _, e := range found[:min(len(found), maxKubeEvents)] {
		one := kubeEventItemOf(&e)
		if e.InvolvedObject.Name != "" && (e.InvolvedObject.Kind != o.Kind || e.InvolvedObject.Name != o.Name) {
			one.About = e.InvolvedObjectName()
		}
		items = append(items, *one)
	}
	return items, err
}

// kubeEventItemOf converts an Event. It leaves About empty.
func kubeEventItemOf(e *kubeevent.Event) *kubeEventItem {
	return &kubeEventItem{millis(e.LastSeen), e.IsWarning(), clip(e.Reason, 4*maxValue), clip(e.Message, 4*maxValue), clip(e.ReportingComponent, maxValue), e.Count, ""}
}

func (h kubeEventLookup) find(ctx context.Context, this *inventory.Entry, o event.Object) ([]kubeevent.Event, error) {
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
