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

// syncsBehind is the number of syncs that may be missing after a line is printed: two commits with two syncs each.
const syncsBehind = 4

// disk measures how long the disk of the state files takes to sync a file. On a busy disk this may be many seconds, during
// which dwatch can't store what it has printed.
type disk struct {
	mu    sync.Mutex
	begun time.Time // start of the current sync; zero means none
	past  []span    // earlier syncs that may still matter
}

type span struct{ begun, ended time.Time }

// measure calls fsync repeatedly until ctx ends or it fails.
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

// behind returns how far the state may currently lag behind the printed lines.
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

// behind returns how far the state may lag if all syncs take as long as s. It returns 0 if s ended longer ago than that.
func (s span) behind(now time.Time) time.Duration {
	most := moments + syncsBehind*s.ended.Sub(s.begun)
	if now.Sub(s.ended) > most {
		return 0
	}
	return most
}

// appending returns a function that appends to a file in dir and syncs it.
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
