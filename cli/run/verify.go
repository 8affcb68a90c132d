package run

import (
	"fmt"
	"strings"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/output/text"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

const (
	maxMissed   = 3  // how many missed objects a message names
	maxVerified = 10 // with more targets, no message says that nothing was missed in a target
)

// SayVerification reports the result of --verify for one target of s.
func (s *Session) SayVerification(v watcher.Verification) {
	switch of := report.DescribeTargets([]event.Target{v.Target}); {
	case v.Err != nil:
		s.Console.Warn(fmt.Sprintf("--verify: %s could not be compared with the server: %s", of, strings.Join(fail.Explain(v.Err), "; ")))
	case len(v.Missed) > 0:
		s.Console.Warn(fmt.Sprintf("--verify: missed changes of %s in %s: %s; listing all objects again",
			text.Count(len(v.Missed), "object"), of, nameMissed(v)))
	case len(s.Plan.Targets) <= maxVerified:
		s.Console.Say(fmt.Sprintf("--verify: nothing missed in %s (%s)", of, text.Count(v.Count, "object")))
	}
}

func nameMissed(v watcher.Verification) string {
	var names []string
	for _, o := range v.Missed[:min(len(v.Missed), maxMissed)] {
		names = append(names, output.EscapeLine(strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")))
	}
	if len(v.Missed) > maxMissed {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}
