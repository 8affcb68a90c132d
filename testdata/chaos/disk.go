package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// syncsBehind is how many a state file may be behind what was printed: two commits, each of two.
const syncsBehind = 4

// disk measures how long the disk takes to sync a file beside those of the state. On a busy
// one that may be many seconds, and for as long dwatch can't note what it has printed.
type disk struct {
	mu    sync.Mutex
	begun time.Time // the present sync; zero: none
	past  []span    // syncs that may still matter
}

type span struct{ begun, ended time.Time }

// measure measures, again and again, until ctx ends.
func (d *disk) measure(ctx context.Context, fsync func() error) (err error) {
	for err == nil && sleep(ctx, 100*time.Millisecond) {
		d.mu.Lock()
		d.begun = time.Now()
		d.mu.Unlock()
		err = fsync()
		now := time.Now()
		d.mu.Lock()
		d.past = slices.DeleteFunc(append(d.past, span{d.begun, now}), func(s span) bool { return s.behind(now) == 0 })
		d.begun = time.Time{}
		d.mu.Unlock()
	}
	return err
}

// behind is how far the state may be behind what was printed until now.
func (d *disk) behind() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, most := time.Now(), moments
	for _, s := range d.past {
		most = max(most, s.behind(now))
	}
	if !d.begun.IsZero() {
		most = max(most, span{d.begun, now}.behind(now))
	}
	return most
}

// behind is the same, as far as the disk was always as slow; 0 once that is over.
func (s span) behind(now time.Time) time.Duration {
	most := moments + syncsBehind*s.ended.Sub(s.begun)
	if now.Sub(s.ended) > most {
		return 0
	}
	return most
}

// appending returns what adds to a file of this directory and syncs it.
func appending(dir string) func() error {
	return func() error {
		f, err := os.OpenFile(filepath.Join(dir, "disk"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString("how long does it take?\n")
		return errors.Join(err, f.Sync(), f.Close())
	}
}
