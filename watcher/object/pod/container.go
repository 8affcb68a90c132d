package pod

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Container is what the status of a Pod says of one of its containers. What it does not say is zero.
type Container struct {
	Name, Image string
	// Init: it is an init container; Ephemeral: it was added to look into the Pod.
	Init, Ephemeral bool
	Restarts        int
	Ready           bool
	// Starting: its startup probe has not succeeded yet, or it has not been started.
	Starting, Running bool
	// Began is when the run that goes on began; zero: none does, or it does not say.
	StartedAt time.Time
	// Waits is why it does not run now.
	Waiting Waiting
	// Ended is how it ended, and Before how it had ended when it was started the last time; nil if
	// it did not.
	Terminated, LastTerminated *Termination
	// Limit is how much memory the kubelet lets it have.
	MemoryLimit string
	list        string
}

// Waiting is a state of a container that does not run yet, or not again.
type Waiting struct{ Reason, Message string }

// Termination is how a container ended.
type Termination struct {
	Reason, Message string
	ExitCode        int64
	StartedAt       time.Time     // zero: not known
	Duration        time.Duration // 0: not known
	hasCode         bool
}

// Exit is such as "exit 137"; empty if that is not known.
func (t *Termination) ExitText() string {
	if t == nil || !t.hasCode {
		return ""
	}
	return fmt.Sprintf("exit %d", t.ExitCode)
}

// HasFailed reports whether the container ended with another code than 0.
func (t *Termination) HasFailed() bool { return t != nil && t.ExitCode != 0 }

// lists are where a Pod has the states of its containers: the first are those of init containers.
var lists = []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"}

// Containers returns what the status of a Pod says of each container: of the init containers first,
// which run one after the other.
func ContainersFromStatus(status map[string]any) (found []Container) {
	for _, list := range lists {
		all, _ := status[list].([]any)
		for _, one := range all {
			if one, ok := one.(map[string]any); ok {
				found = append(found, containerOf(list, one))
			}
		}
	}
	return found
}

func containerOf(list string, s map[string]any) Container {
	ready, _ := s["ready"].(bool)
	started, known := s["started"].(bool)
	_, running := at(s, "state", "running").(map[string]any)
	return Container{
		Name: text(s, "name"), Image: text(s, "image"), Init: list == lists[0], Ephemeral: list == lists[2],
		Restarts: int(number(s, "restartCount")),
		Ready:    ready, Starting: known && !started, Running: running,
		StartedAt:      timeOf(s, "state", "running", "startedAt"),
		Waiting:        Waiting{text(s, "state", "waiting", "reason"), text(s, "state", "waiting", "message")},
		Terminated:     terminationOf(at(s, "state", "terminated")),
		LastTerminated: terminationOf(at(s, "lastState", "terminated")),
		MemoryLimit:    text(s, "resources", "limits", "memory"),
		list:           list,
	}
}

func terminationOf(state any) *Termination {
	t, ok := state.(map[string]any)
	if !ok {
		return nil
	}
	end := &Termination{Reason: text(t, "reason"), Message: text(t, "message")}
	end.ExitCode, end.hasCode = t["exitCode"].(int64)
	end.StartedAt = timeOf(t, "startedAt")
	if ended := timeOf(t, "finishedAt"); !end.StartedAt.IsZero() && ended.After(end.StartedAt) {
		end.Duration = ended.Sub(end.StartedAt)
	}
	return end
}

// timeOf is the time at a path; zero if there is none, as kubelets write 1970 for, too.
func timeOf(object map[string]any, path ...string) time.Time {
	t, err := time.Parse(time.RFC3339, text(object, path...))
	if err != nil || t.Unix() <= 0 {
		return time.Time{}
	}
	return t
}

func at(object map[string]any, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return value
}

func text(object map[string]any, path ...string) string {
	s, _ := at(object, path...).(string)
	return s
}

func number(object map[string]any, path ...string) int64 {
	n, _ := at(object, path...).(int64)
	return n
}
