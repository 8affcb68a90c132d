package watcher

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

// serverClock tells the time by the clock of the server, which is the one that creationTimestamp is
// of: that of this side may be wrong. It is a transport, and reads the Date of the first answer that
// has one.
type serverClock struct {
	next http.RoundTripper

	mu         sync.Mutex
	date, seen time.Time
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
		if c.seen.IsZero() {
			c.date, c.seen = date, time.Now()
		}
		c.mu.Unlock()
	}
	return response, nil
}

// at returns what the server's clock said at a time of this side's, or up to a second more: a Date is
// in whole seconds.
func (c *serverClock) at(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen.IsZero() {
		return t.Add(time.Second)
	}
	return c.date.Add(time.Second - c.seen.Sub(t))
}

// existed reports whether an object may have been there when the run began. Of one that was created
// in that second or in the next nobody knows.
func (r *run) existed(o event.Object) bool {
	created := gjson.Get(o.Raw(), "metadata.creationTimestamp")
	return !created.Exists() || !created.Time().After(r.clock.at(r.began))
}
