package source

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/watcher/event"
)

// TestListOptionsTimeout checks that the server is not asked to end the initial events, which may take longer than the
// timeout that the informer requests, and that it is asked to end a later watch after the connection's life.
func TestListOptionsTimeout(t *testing.T) {
	options := metav1.ListOptions{TimeoutSeconds: new(int64(300)), SendInitialEvents: new(true)}
	c := &connection{stream: &stream{options: options, syncing: true}, life: time.Minute}
	if got := c.listOptions().TimeoutSeconds; got != nil {
		t.Errorf("initial events have a timeout of %d s, want none", *got)
	}
	c.syncing = false
	if got := c.listOptions().TimeoutSeconds; got == nil || *got != 60 {
		t.Errorf("got a timeout of %v, want 60 s", got)
	}
}

// TestCutSyncs checks that only interruptions without complete initial events in between make the informer list.
func TestCutSyncs(t *testing.T) {
	s := &session{Source: &Source{observer: observerFunc(func(Observation) {})}}
	for range 2 {
		for range cutSyncs - 1 {
			if err := s.noteCutSync(); err != errCutSync {
				t.Fatalf("got %v, want %v", err, errCutSync)
			}
		}
		s.endSync("1")
	}
	for range cutSyncs - 1 {
		s.noteCutSync()
	}
	if err := s.noteCutSync(); err != event.ErrSilentSync {
		t.Errorf("got %v, want %v", err, event.ErrSilentSync)
	}
}
