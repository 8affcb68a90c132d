package reason

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"dwatch/watcher/object/kubeevent"
)

// maxTermination bounds the characters of a termination message that are quoted.
const maxTermination = 160

// Event returns the reason and the message of a Warning event. It shortens messages that repeat what is known anyway.
func Event(e kubeevent.Event) string {
	message := strings.Join(strings.Fields(e.Message), " ")
	switch e.Reason {
	case "FailedScheduling":
		message = trimScheduling(message)
	case "FailedCreate":
		message = trimRefusal(message)
	case "FailedMount", "FailedAttachVolume":
		message = trimMount(message)
	}
	return join(e.Reason, message)
}

var (
	// nodesPattern matches the message of the scheduler: "0/3 nodes are available: 3 Insufficient memory."
	nodesPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d+/(\d+)) nodes are available: (.*?)\.?( preemption: .*)?$`)
	})
	// countPattern matches one of its reasons: "3 Insufficient memory".
	countPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+) (.*)$`) })
)

// trimScheduling returns the message of the scheduler without the part about preemption. If one reason holds for all nodes,
// their number is not repeated before it.
func trimScheduling(message string) string {
	parts := nodesPattern().FindStringSubmatch(strings.Join(strings.Fields(message), " "))
	if parts == nil {
		return message
	}
	reasons := strings.Split(parts[3], ", ")
	for i, one := range reasons {
		if counted := countPattern().FindStringSubmatch(one); counted != nil {
			what := strings.Replace(counted[2], "Insufficient ", "insufficient ", 1)
			if counted[1] != parts[2] || len(reasons) > 1 {
				what = counted[1] + " " + what
			}
			reasons[i] = what
		}
	}
	return parts[1] + " nodes: " + strings.Join(reasons, ", ")
}

// trimRefusal returns why an object can't be created. If that is forbidden, it omits the object's name, which is a new one
// at each attempt.
func trimRefusal(message string) string {
	if _, why, found := strings.Cut(message, " is forbidden: "); found {
		return why
	}
	return strings.TrimPrefix(message, "Error creating: ")
}

// volumePattern matches the message of the kubelet about a volume that it can't mount.
var volumePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^MountVolume\.\w+ failed for volume ("[^"]*") : (.*)$`)
})

func trimMount(message string) string {
	if parts := volumePattern().FindStringSubmatch(message); parts != nil {
		return "volume " + parts[1] + ": " + parts[2]
	}
	return message
}

// trimPull returns why an image can't be pulled: the innermost of the nested errors. It is empty if the message only says
// that the kubelet waits before the next attempt.
func trimPull(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if i := strings.LastIndex(message, ": "); i >= 0 {
		return message[i+len(": "):]
	}
	if strings.HasPrefix(message, "Back-off pulling image ") {
		return ""
	}
	return message
}

// lastLine returns the last line of a text that is not empty, shortened to maxTermination characters.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if utf8.RuneCountInString(text) > maxTermination {
		return string([]rune(text)[:maxTermination]) + "…"
	}
	return text
}
