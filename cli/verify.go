package cli

import (
	"fmt"
	"strings"

	"dwatch/cli/fail"
	"dwatch/cli/metrics"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

// maxMissed is how many objects are named that were missed.
const maxMissed = 3

// maxVerified is how many targets may be said to be as the server has them, each by itself.
const maxVerified = 10

// sayVerified returns what takes the results of --verify at a cluster.
func sayVerified(s *session, counts *metrics.Metrics) func(watcher.Verification) {
	return func(v watcher.Verification) {
		counts.RecordVerification(v.Target, len(v.Missed), v.Err == nil)
		switch of := report.DescribeTargets([]event.Target{v.Target}); {
		case v.Err != nil:
			s.warn(fmt.Sprintf("--verify: %s could not be compared with the server: %s", of, strings.Join(fail.Explain(v.Err), "; ")))
		case len(v.Missed) > 0:
			s.warn(fmt.Sprintf("--verify: of %s the last states of %d objects were missed: %s; listing all of it anew", of, len(v.Missed), missedIn(v)))
		case len(s.plan.Targets) <= maxVerified:
			s.say(fmt.Sprintf("--verify: %s, %d in number: nothing was missed", of, v.Count))
		}
	}
}

// missedIn names some of the objects that were missed.
func missedIn(v watcher.Verification) string {
	var names []string
	for _, o := range v.Missed[:min(len(v.Missed), maxMissed)] {
		names = append(names, output.EscapeLine(strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")))
	}
	if len(v.Missed) > maxMissed {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}
