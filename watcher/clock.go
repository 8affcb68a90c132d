package watcher

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

// serverClock estimates the server's time, which creationTimestamps refer to. The local clock may be
// wrong. It is an http.RoundTripper that reads the Date header of the first response that has one.
type serverClock struct {
	next http.RoundTripper

	mu       sync.Mutex
	date     time.Time // the Date header
	received time.Time // when it was received, by the local clock; zero before that
}

// newServerClock returns a clock, and a client that sets it and uses the connections of client.
func newServerClock(client *http.Client) (*serverClock, *http.Client) {
	c := &serverClock{next: cmp.Or(client.Transport, http.DefaultTransport)}
	copied := *client
	copied.Transport = c
	return c, &copied
}

// RoundTrip implements http.RoundTripper.
func (c *serverClock) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		c.mu.Lock()
		if c.received.IsZero() {
			c.date, c.received = date, time.Now()
		}
		c.mu.Unlock()
	}
	return response, nil
}

// latestAt estimates the latest time that the server's clock may have shown at local time t. The
// actual time may be up to a second earlier, because a Date has whole seconds.
func (c *serverClock) latestAt(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.received.IsZero() {
		return t.Add(time.Second)
	}
	return c.date.Add(time.Second - c.received.Sub(t))
}

// existedAtStart reports whether an object may have existed when the run began. It can't tell for
// objects that were created within two seconds after that.
func (s *runState) existedAtStart(o event.Object) bool {
	created := gjson.Get(o.Raw(), "metadata.creationTimestamp")
	return !created.Exists() || !created.Time().After(s.clock.latestAt(s.startTime))
}
