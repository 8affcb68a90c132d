package deliver

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestAtLeastOnceInOrder checks that each event reaches a receiver with random failures at least once, after all earlier events of its
// object.
func TestAtLeastOnceInOrder(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for seed := range rounds {
		random := rand.New(rand.NewPCG(1, uint64(seed)))
		o := Options{
			Workers:    1 + random.IntN(5),
			MaxBackoff: time.Duration(1+random.IntN(60)) * time.Second,
			MaxBytes:   int64(1+random.IntN(20)) * 2 * overhead,
		}
		if random.IntN(3) == 0 {
			o.Rate = 1 + 20*random.Float64()
		}
		flaky := &flakyReceiver{random: rand.New(rand.NewPCG(2, uint64(seed))), quota: random.IntN(200)}
		inBubble(t, o, flaky.answer, func(t *testing.T, r *running) {
			events := deliverSome(t, r, random)
			r.Drain()
			await(24 * time.Hour)
			if _, left := r.Summary(); left != 0 {
				t.Errorf("seed %d: %d of %d messages were not delivered: %s", seed, left, events, r.Status())
			}
			checkOrder(t, r, events)
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// deliverSome delivers events of some objects at random times, and returns the number of events.
func deliverSome(t *testing.T, r *running, random *rand.Rand) int {
	versions := make([]int, 1+random.IntN(8))
	events := random.IntN(60)
	for range events {
		i := random.IntN(len(versions))
		versions[i]++
		r.deliver(t, of(strconv.Itoa(i), versions[i]))
		if random.IntN(4) == 0 {
			await(time.Duration(random.IntN(5000)) * time.Millisecond)
		}
	}
	synctest.Wait()
	return events
}

// checkOrder checks that a receiver got the events 1, 2, 3, ... of each object in order, and each of them until it was accepted but not
// afterwards.
func checkOrder(t *testing.T, r *running, events int) {
	t.Helper()
	next := map[string]int{}
	for _, try := range r.all() {
		if try.version != fmt.Sprint(next[try.name]+1) {
			t.Errorf("got attempt %v after %s=%d was accepted", try, try.name, next[try.name])
		}
		if try.taken {
			next[try.name]++
			events--
		}
	}
	if events != 0 {
		t.Errorf("%d events were not accepted", events)
	}
}

// flakyReceiver fails a number of attempts at random, sometimes several in a row, and takes a random time to answer.
type flakyReceiver struct {
	mu     sync.Mutex
	random *rand.Rand
	quota  int // remaining failures
	down   int // remaining failures in a row
}

func (f *flakyReceiver) answer(*Message, int) error {
	f.mu.Lock()
	outcome, slow := f.random.IntN(10), time.Duration(f.random.IntN(2000))*time.Millisecond
	if outcome == 0 {
		f.down = f.random.IntN(40)
	}
	fails := f.quota > 0 && (f.down > 0 || outcome < 4)
	if fails {
		f.quota--
		f.down--
	}
	f.mu.Unlock()
	if outcome%2 == 0 {
		time.Sleep(slow) // of the bubble
	}
	switch {
	case !fails:
		return nil
	case outcome == 1:
		return &DownError{Err: errNo, RetryAfter: slow}
	default:
		return errNo
	}
}
