package page

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	objectpod "dwatch/watcher/object/pod"
)

// maxContainers is the maximum number of containers of a Pod in an answer.
const maxContainers = 50

// container is the state of a container of a Pod, in an API answer.
type container struct {
	Name string `json:"name"`
	// Role is init or ephemeral, or empty for regular containers.
	Role     string `json:"role,omitempty"`
	Image    string `json:"image,omitempty"`
	State    string `json:"state"`
	Look     string `json:"look"` // colours State: Current, InProgress or Failed
	Message  string `json:"message,omitempty"`
	Restarts int    `json:"restarts"`
	// Last is how the previous run ended, and LastMessage its termination message.
	Last        string   `json:"last,omitempty"`
	LastMessage string   `json:"lastMessage,omitempty"`
	Limits      []string `json:"limits,omitempty"`
}

// containersOf returns the containers of a Pod, and nil for other objects.
func containersOf(content string) []container {
	if gjson.Get(content, "kind").String() != "Pod" || gjson.Get(content, "apiVersion").String() != "v1" {
		return nil
	}
	var all []container
	for _, c := range objectpod.ParseContainers(content) {
		if len(all) == maxContainers {
			break
		}
		one := container{Name: clip(c.Name, maxName), Image: clip(c.Image, maxValue), Restarts: c.Restarts, Limits: limitsOf(content, c.Name)}
		switch {
		case c.Init:
			one.Role = "init"
		case c.Ephemeral:
			one.Role = "ephemeral"
		}
		one.State, one.Look = stateOf(&c)
		one.Message = clip(c.Waiting.Message, maxMessage)
		if c.Terminated != nil {
			one.Message = clip(c.Terminated.Message, maxMessage)
		}
		if c.LastTerminated != nil {
			one.Last, one.LastMessage = terminationText(c.LastTerminated), clip(c.LastTerminated.Message, maxMessage)
		}
		all = append(all, one)
	}
	return all
}

// stateOf returns State and Look of a container.
func stateOf(c *objectpod.Container) (text, look string) {
	failed := c.Terminated.HasFailed() || c.LastTerminated.HasFailed()
	switch {
	case c.Terminated != nil && !c.Terminated.HasFailed():
		return terminationText(c.Terminated), "Current"
	case c.Terminated != nil:
		return terminationText(c.Terminated), "Failed"
	case c.Waiting.Reason != "" && failed:
		return clip(c.Waiting.Reason, maxName), "Failed"
	case c.Waiting.Reason != "":
		return clip(c.Waiting.Reason, maxName), "InProgress"
	case c.Running && (c.Ready || c.Init || c.Ephemeral):
		return "Running", "Current"
	case c.Running:
		return "Running, not ready", "InProgress"
	}
	return "Waiting", "InProgress"
}

// terminationText describes a termination, for example "Error, exit 1, after 3s".
func terminationText(t *objectpod.Termination) string {
	var parts []string
	for _, part := range []string{clip(t.Reason, maxName), t.ExitText()} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if t.Duration > 0 {
		parts = append(parts, fmt.Sprint("after ", t.Duration))
	}
	if len(parts) == 0 {
		return "Ended"
	}
	return strings.Join(parts, ", ")
}

// limitsOf returns the first 5 resource limits of a container, for example "memory 64Mi".
func limitsOf(content, name string) (limits []string) {
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		gjson.Get(content, "spec."+list).ForEach(func(_, c gjson.Result) bool {
			if c.Get("name").String() != name {
				return true
			}
			c.Get("resources.limits").ForEach(func(what, much gjson.Result) bool {
				limits = append(limits, clip(what.String(), maxName)+" "+clip(much.String(), maxName))
				return len(limits) < 5
			})
			return false
		})
	}
	return limits
}
