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
		moody := &moody{random: rand.New(rand.NewPCG(2, uint64(seed))), quota: random.IntN(200)}
		inBubble(t, o, moody.answer, func(t *testing.T, r *running) {
			events := deliverSome(t, r, random)
			r.Drain()
			await(24 * time.Hour)
			if _, left := r.Summary(); left != 0 {
				t.Errorf("seed %d: %d of %d are left: %s", seed, left, events, r.Status())
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
			t.Errorf("%v after %s=%d was taken", try, try.name, next[try.name])
		}
		if try.taken {
			next[try.name]++
			events--
		}
	}
	if events != 0 {
		t.Errorf("%d were not taken", events)
	}
}

// moody is a receiver that fails a number of times, now and then for a while for all, and
// takes its time.
type moody struct {
	mu     sync.Mutex
	random *rand.Rand
	quota  int // of failures that are left
	down   int // of which so many come in a row
}

func (f *moody) answer(*Message, int) error {
	f.mu.Lock()
	mood, slow := f.random.IntN(10), time.Duration(f.random.IntN(2000))*time.Millisecond
	if mood == 0 {
		f.down = f.random.IntN(40)
	}
	fails := f.quota > 0 && (f.down > 0 || mood < 4)
	if fails {
		f.quota--
		f.down--
	}
	f.mu.Unlock()
	if mood%2 == 0 {
		time.Sleep(slow) // of the bubble
	}
	switch {
	case !fails:
		return nil
	case mood == 1:
		return &DownError{Err: errNo, RetryAfter: slow}
	default:
		return errNo
	}
}
