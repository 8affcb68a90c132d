package page

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"dwatch/output/inventory"
)

const (
	// leadUp is the searched duration before a failure. maxLeadUp is the maximum number of changes in an answer.
	leadUp    = 10 * time.Minute
	maxLeadUp = 100
)

// leadUpAnswer has the intentional changes before a failure.
type leadUpAnswer struct {
	// From and To limit the searched time. It is shorter than leadUp if dwatch started later, or if Busy is true.
	From  int64        `json:"from"`
	To    int64        `json:"to"`
	Items []leadUpItem `json:"items"`
	More  int          `json:"more,omitempty"`
	// Busy is true if there were too many changes to search all of them. From is the first searched one then.
	Busy bool `json:"busy,omitempty"`
	// Missing is the number of objects whose states in that time were evicted. Forgotten is the latest time at which an
	// object that is no longer retained existed or was deleted.
	Missing   int   `json:"missing,omitempty"`
	Forgotten int64 `json:"forgotten,omitempty"`
	// Unseen has the coverage gaps of the cluster.
	Unseen     []coverageGap `json:"unseen,omitempty"`
	UnseenMore int           `json:"unseenMore,omitempty"`
}

type leadUpItem struct {
	called
	Time int64  `json:"time"`
	Who  string `json:"who,omitempty"`
	What string `json:"what"`
	// Near is an inventory.Proximity: 0 for the object, its owners and what they name, 1 for others in its namespace, 2
	// for all others.
	Near int `json:"near"`
}

// leadUpLookup finds the changes before a failure of an object.
type leadUpLookup struct{ *Hub }

func (h leadUpLookup) find(r *http.Request) (any, error) {
	values, err := keyQuery(r, "at")
	if err != nil {
		return nil, err
	}
	ms, err := strconv.ParseInt(values.Get("at"), 10, 64)
	if err != nil {
		return nil, errors.New("at takes a time in ms since 1970")
	}
	return h.lookup(r.Context(), values.Get("key"), ms)
}

// lookup returns the changes before the failure of an object at ms, a Unix time in milliseconds.
func (h leadUpLookup) lookup(ctx context.Context, key string, ms int64) (answer leadUpAnswer, err error) {
	past, held := h.inventory.History(key)
	if !held {
		return answer, errNotRetained
	}
	at := time.UnixMilli(ms).Add(time.Millisecond - 1) // the end of that millisecond
	found, err := inventory.FindLeadUp(ctx, h.inventory, past.Entry, at, leadUp, h.Compare)
	if err != nil {
		return answer, err // ctx has ended
	}
	h.mu.Lock()
	started := h.started
	h.mu.Unlock()
	answer = leadUpAnswer{From: max(ms-leadUp.Milliseconds(), millis(started)), To: ms, Items: []leadUpItem{}, Missing: found.IncompleteObjects, Forgotten: millis(found.ForgottenUntil)}
	if answer.Busy = !found.ScannedFrom.IsZero(); answer.Busy {
		answer.From = max(answer.From, millis(found.ScannedFrom))
	}
	missed := gapCollector{from: answer.From, to: answer.To}
	h.mu.Lock()
	missed.collect(h.Hub, past.Entry.Cluster)
	h.mu.Unlock()
	answer.Unseen = missed.all[:min(len(missed.all), maxUnseen)]
	answer.UnseenMore = len(missed.all) - len(answer.Unseen)
	for n := range found.Changes[:min(len(found.Changes), maxLeadUp)] {
		c := &found.Changes[n]
		answer.Items = append(answer.Items, leadUpItem{calledBy(c.Entry), millis(c.State.Time), clip(c.Manager, maxName), clip(c.Summary, maxMessage), int(c.Proximity)})
	}
	answer.More = len(found.Changes) - len(answer.Items)
	return answer, nil
}
