package run

import (
	"errors"
	"testing"

	"dwatch/watcher"
)

// TestAnswered checks that a cluster with an unreadable object counts as one that has answered, so that its other objects are shown.
func TestAnswered(t *testing.T) {
	unreadable := &watcher.UnreadableError{Names: []string{"default/bad"}}
	for name, test := range map[string]struct {
		errs []error
		want bool
	}{
		"one answered":            {[]error{errors.New("down"), nil}, true},
		"one object is invalid":   {[]error{errors.New("down"), unreadable}, true},
		"all have invalid":        {[]error{unreadable, unreadable}, true},
		"one failed for the rest": {[]error{errors.Join(unreadable, errors.New("down"))}, false},
		"none answered":           {[]error{errors.New("down")}, false},
	} {
		var all []ClusterResult[int]
		for _, err := range test.errs {
			all = append(all, ClusterResult[int]{Err: err})
		}
		if got := TolerateMissingResource(nil, all); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
