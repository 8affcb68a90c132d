package status

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/pod"
	"dwatch/watcher/object/reason"
)

const (
	// loopWithin is how close together two restarts are that make a crash loop.
	loopWithin = 10 * time.Minute
	// loopFactor is how many times longer than its last run a container must keep running before it counts as healthy.
	loopFactor = 2
)

// crashLoop returns the state of a Pod with a container that crashes repeatedly: it restarted twice within ten minutes.
// The Pod counts as failed until a run has lasted twice as long as the one before. State.Word is empty otherwise.
//
// A Pod shows only two runs of a container: the one that ended last, and the present one. The longest run so far is
// unknown if it was an earlier one.
func crashLoop(u *unstructured.Unstructured, now time.Time) (s State) {
	if !isPod(u) {
		return s
	}
	about, _ := u.Object["status"].(map[string]any)
	for _, c := range pod.ContainersFromStatus(about) {
		clears, loops := loopEnd(&c)
		if !loops || !clears.IsZero() && !now.Before(clears) || s.Word != "" && !clears.After(s.ClearsAt) {
			continue
		}
		why := reason.CrashLoop(u, &c)
		s = State{Word: status.FailedStatus, Message: strings.Join(strings.Fields(why.Text), " "), HasReason: true, SelfReported: !why.NeedsEvents, ClearsAt: clears}
	}
	return s
}

// loopEnd reports whether a container is in a crash loop, and when that ends if the container keeps running. The time is
// zero if the container does not run now.
func loopEnd(c *pod.Container) (clears time.Time, loops bool) {
	last := c.LastTerminated
	switch {
	case c.Ephemeral || c.Restarts < 2 || last == nil || last.StartedAt.IsZero():
		return clears, false
	case c.Running && !c.StartedAt.IsZero():
		return c.StartedAt.Add(loopFactor * last.Duration), c.StartedAt.Sub(last.StartedAt) <= loopWithin
	case c.Terminated.HasFailed() && !c.Terminated.StartedAt.IsZero():
		return clears, c.Terminated.StartedAt.Sub(last.StartedAt) <= loopWithin
	case c.Init && c.Waiting.Reason == "CrashLoopBackOff":
		return clears, true
	}
	return clears, false
}
