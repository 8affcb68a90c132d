package reason

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"dwatch/watcher/object/kubeevent"
)

// maxSaid is how many characters of what a container said at its end are taken.
const maxSaid = 160

// Event is what a Warning says is wrong: its reason, and its message without what is known anyway.
func Event(e kubeevent.Event) string {
	message := strings.Join(strings.Fields(e.Message), " ")
	switch e.Reason {
	case "FailedScheduling":
		message = unschedulable(message)
	case "FailedCreate":
		message = refusal(message)
	case "FailedMount", "FailedAttachVolume":
		message = mount(message)
	}
	return because(e.Reason, message)
}

var (
	// nodes are those that the scheduler looked at: "0/3 nodes are available: 3 Insufficient memory."
	nodes = regexp.MustCompile(`^(\d+/(\d+)) nodes are available: (.*?)\.?( preemption: .*)?$`)
	// why is one of the reasons that it counts.
	why = regexp.MustCompile(`^(\d+) (.*)$`)
)

// unschedulable is what the scheduler says, without what it says of preemption, and without the
// number of nodes where that is all of them.
func unschedulable(message string) string {
	parts := nodes.FindStringSubmatch(strings.Join(strings.Fields(message), " "))
	if parts == nil {
		return message
	}
	reasons := strings.Split(parts[3], ", ")
	for i, one := range reasons {
		if counted := why.FindStringSubmatch(one); counted != nil {
			what := strings.Replace(counted[2], "Insufficient ", "insufficient ", 1)
			if counted[1] != parts[2] || len(reasons) > 1 {
				what = counted[1] + " " + what
			}
			reasons[i] = what
		}
	}
	return parts[1] + " nodes: " + strings.Join(reasons, ", ")
}

// refusal is why something can't be created, without what, which has a new name at each try.
func refusal(message string) string {
	if _, why, found := strings.Cut(message, " is forbidden: "); found {
		return why
	}
	return strings.TrimPrefix(message, "Error creating: ")
}

var volume = regexp.MustCompile(`^MountVolume\.\w+ failed for volume ("[^"]*") : (.*)$`)

func mount(message string) string {
	if parts := volume.FindStringSubmatch(message); parts != nil {
		return "volume " + parts[1] + ": " + parts[2]
	}
	return message
}

// pull is why an image can't be pulled: the last of what the runtime has put before one another.
func pull(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if i := strings.LastIndex(message, ": "); i >= 0 {
		return message[i+len(": "):]
	}
	if strings.HasPrefix(message, "Back-off pulling image ") {
		return ""
	}
	return message
}

// lastLine is the last line of a text that has something in it.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if utf8.RuneCountInString(text) > maxSaid {
		return string([]rune(text)[:maxSaid]) + "…"
	}
	return text
}
