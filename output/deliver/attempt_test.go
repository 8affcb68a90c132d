package deliver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dwatch/watcher/event"
)

type sends func(ctx context.Context) error

func (s sends) Send(ctx context.Context, _ *Message) error { return s(ctx) }

// TestBeginAttempt checks that an attempt waits for BeginAttempt, and that its cancellation is not counted as a failure of the receiver.
// Messages whose attempts may never begin wait until the end of the run.
func TestBeginAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := make(chan struct{})
		tries := 0
		held, expire := context.WithCancel(t.Context())
		r := sends(func(ctx context.Context) error {
			if tries++; tries == 1 { // this attempt is cancelled
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		q := New(r, Options{
			Encode:  func(dst []byte, _ event.Event) ([]byte, error) { return append(dst, "{}\n"...), nil },
			Subject: func(event.Event) string { return "cm/a" }, Deadline: time.Second,
			BeginAttempt: func(ctx context.Context) (context.Context, context.CancelFunc, error) {
				if held.Err() == nil {
					ctx, cancel := context.WithCancel(ctx)
					context.AfterFunc(held, cancel)
					return ctx, cancel, nil
				}
				select {
				case <-opened:
					return ctx, func() {}, nil
				case <-ctx.Done():
					return nil, nil, errors.New("never")
				}
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); q.Run(ctx) }()
		if err := q.Deliver(ctx, []event.Event{of("a", 1)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expire()
		time.Sleep(time.Hour) // does not count for the message
		synctest.Wait()
		if s := q.Stats(); s.Failed != 0 || s.Waiting != 1 || s.Delivered != 0 || s.Down || tries != 1 {
			t.Errorf("waiting for BeginAttempt: got %+v after %d attempts", s, tries)
		}
		close(opened)
		synctest.Wait()
		if s := q.Stats(); s.Failed != 0 || s.Waiting != 0 || s.Delivered != 1 || tries != 2 {
			t.Errorf("after the attempt: got %+v after %d attempts", s, tries)
		}
		opened = make(chan struct{})
		if err := q.Deliver(ctx, []event.Event{of("a", 2)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stop()
		<-ended
		if s := q.Stats(); s.Waiting != 1 || tries != 2 {
			t.Errorf("after the end of the run: got %+v after %d attempts", s, tries)
		}
	})
}
