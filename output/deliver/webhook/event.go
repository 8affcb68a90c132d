package webhook

import (
	"net/http"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	"dwatch/output/deliver/cloudevent"
)

// binary adds an event's attributes as headers: its data is the body.
func binary(e *event.Event, header http.Header) {
	header["Content-Type"] = []string{e.DataContentType()}
	cloudevent.Headers(e, func(name, value string) {
		header["Ce-"+strings.ToUpper(name[:1])+name[1:]] = []string{value}
	})
}

// structured returns an event as one document.
func structured(e *event.Event, header http.Header) ([]byte, error) {
	header["Content-Type"] = []string{event.ApplicationCloudEventsJSON}
	return e.MarshalJSON()
}
