package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestDisk: what a slow sync may have kept from the state is allowed for, and nothing else.
func TestDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64 // nanoseconds
		takes.Store(int64(time.Millisecond))
		d := &disk{}
		go d.measure(t.Context(), func() error { time.Sleep(time.Duration(takes.Load())); return nil })
		expect := func(want time.Duration) {
			t.Helper()
			if got := d.behind(); got < want || got > want+time.Second {
				t.Errorf("%v behind, want %v", got, want)
			}
		}
		time.Sleep(10 * time.Second)
		expect(moments)
		takes.Store(int64(9 * time.Second))
		time.Sleep(5 * time.Second)
		takes.Store(int64(time.Millisecond))
		expect(moments + syncsBehind*5*time.Second - time.Second) // it has not ended yet
		time.Sleep(10 * time.Second)
		expect(moments + syncsBehind*9*time.Second)
		time.Sleep(time.Minute)
		expect(moments)
	})
}
