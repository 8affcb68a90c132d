package churn

import "time"

// rate counts changes, in total and in the last minute.
type rate struct {
	Count int
	last  recent // in the last minute
}

func (r *rate) add(at time.Time) {
	r.Count++
	r.last.add(at, time.Minute)
}

// LastMinute returns the number of changes in the minute before now, to the precision of recent.
func (r *rate) LastMinute(now time.Time) int { return r.last.count(now, time.Minute) }

// recent counts events in the last period. Events that are older than eleven twelfths of the period may not count. All
// calls for one counter must pass the same period.
type recent struct {
	parts [12]struct{ at, count uint32 } // a ring; at is the number of the twelfth since 1970
}

// part returns the number of the twelfth that contains a time.
func (r *recent) part(at time.Time, within time.Duration) uint32 {
	return uint32(at.UnixNano() / (int64(within) / int64(len(r.parts))))
}

func (r *recent) add(at time.Time, within time.Duration) {
	n := r.part(at, within)
	p := &r.parts[n%uint32(len(r.parts))]
	if p.at != n {
		p.at, p.count = n, 0
	}
	p.count++
}

func (r *recent) count(now time.Time, within time.Duration) (sum int) {
	n := r.part(now, within)
	for _, p := range r.parts {
		if p.at+uint32(len(r.parts)) > n && p.at <= n {
			sum += int(p.count)
		}
	}
	return sum
}
