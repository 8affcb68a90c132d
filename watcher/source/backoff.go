package source

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Backoff is the wait between two tries: from half a second, doubling, up to 30
// seconds, with jitter so that many watchers of a server that returns do not
// come all at once.
type Backoff struct{ next wait.Backoff }

// NewBackoff returns a Backoff before its first wait.
func NewBackoff() *Backoff {
	b := &Backoff{}
	b.Reset()
	return b
}

// Reset makes the next wait the first.
func (b *Backoff) Reset() {
	b.next = wait.Backoff{Duration: 400 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 20 * time.Second}
}

// Wait waits for the next try, longer if the server said so in err. It reports
// false when ctx ended first.
func (b *Backoff) Wait(ctx context.Context, err error) bool {
	delay := b.next.Step()
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		delay = max(delay, time.Duration(seconds)*time.Second)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
