package deliver

import (
	"context"
	"time"
)

const (
	// sayEvery is how often it is said that something waits, and sayAtMost how far apart
	// two changes are said. What happens together is one.
	sayEvery, sayAtMost, together = time.Minute, 5 * time.Second, 100 * time.Millisecond
	// slow is for how long something waits before that is worth a word.
	slow = 10 * time.Second
)

// reporter says how a delivery is.
type reporter struct {
	say     func(line string)
	status  func() status
	changed chan struct{} // has one if there may be something to say
}

// run says how it is until ctx ends.
func (r *reporter) run(ctx context.Context) {
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	var said condition
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
			pause(ctx, together)
			now := r.status()
			if now.condition() == said {
				continue
			}
			now.worksAgain = said.failing && !now.failing
			r.say(now.String())
			said = now.condition()
			pause(ctx, sayAtMost)
		case <-tick.C:
			if now := r.status(); now.Waiting > 0 && (now.failing || now.Full || now.Oldest >= slow) {
				r.say(now.String())
				said = now.condition()
			}
		}
	}
}

// noteChange says that there may be something to say. It does not block.
func (r *reporter) noteChange() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
