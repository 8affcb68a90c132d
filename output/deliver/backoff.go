package deliver

import (
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// firstBackoff is the longest wait before the second try.
const firstBackoff = time.Second

// newBackoff returns how long a key waits after each failure: it doubles up to limit,
// with jitter, so that what failed together is not tried again together. (The default
// limiter of workqueue has one bucket for all keys.)
func newBackoff(limit time.Duration) workqueue.TypedRateLimiter[key] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[key](min(firstBackoff, limit), limit)}
}

// jittered is a limiter with waits between half of what they are and all of it.
type jittered struct {
	workqueue.TypedRateLimiter[key]
}

// When implements workqueue.TypedRateLimiter.
func (j jittered) When(k key) time.Duration {
	d := j.TypedRateLimiter.When(k)
	return d - rand.N(d/2+1)
}
