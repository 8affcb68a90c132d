package pod

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Container is the state of one container, as the status of its Pod reports it. Fields that are not reported are zero.
type Container struct {
	Name, Image string
	// Init is true for an init container, and Ephemeral for one that was added for debugging.
	Init, Ephemeral bool
	Restarts        int
	Ready           bool
	// Starting is true until the startup probe succeeds.
	Starting, Running bool
	// StartedAt is when the present run began. Zero if the container does not run, or the time is not reported.
	StartedAt time.Time
	// Waiting is why the container does not run now.
	Waiting Waiting
	// Terminated is how the container ended, if it does not run now. LastTerminated is how its previous run ended. Both
	// are nil if that did not happen.
	Terminated, LastTerminated *Termination
	// MemoryLimit is the limit that the kubelet enforces.
	MemoryLimit string
	list        string
}

// Waiting is the state of a container that has not started yet, or not again.
type Waiting struct{ Reason, Message string }

// Termination describes the end of a run.
type Termination struct {
	Reason, Message string
	ExitCode        int64
	StartedAt       time.Time     // zero if unknown
	Duration        time.Duration // zero if unknown
	hasCode         bool
}

// ExitText returns the exit code, such as "exit 137". It is empty if the code is unknown.
func (t *Termination) ExitText() string {
	if t == nil || !t.hasCode {
		return ""
	}
	return fmt.Sprintf("exit %d", t.ExitCode)
}

// HasFailed reports whether the exit code is not 0.
func (t *Termination) HasFailed() bool { return t != nil && t.ExitCode != 0 }

// lists are the fields of a status that hold the states of containers, in order: init, regular, ephemeral.
var lists = []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"}

// ContainersFromStatus returns the containers in the status of a Pod. Init containers come first.
func ContainersFromStatus(status map[string]any) (found []Container) {
	for _, list := range lists {
		all, _ := status[list].([]any)
		for _, one := range all {
			if one, ok := one.(map[string]any); ok {
				found = append(found, newContainer(list, one))
			}
		}
	}
	return found
}

func newContainer(list string, s map[string]any) Container {
	ready, _ := s["ready"].(bool)
	started, known := s["started"].(bool)
	_, running := value(s, "state", "running").(map[string]any)
	return Container{
		Name: text(s, "name"), Image: text(s, "image"), Init: list == lists[0], Ephemeral: list == lists[2],
		Restarts: int(number(s, "restartCount")),
		Ready:    ready, Starting: known && !started, Running: running,
		StartedAt:      timeAt(s, "state", "running", "startedAt"),
		Waiting:        Waiting{text(s, "state", "waiting", "reason"), text(s, "state", "waiting", "message")},
		Terminated:     newTermination(value(s, "state", "terminated")),
		LastTerminated: newTermination(value(s, "lastState", "terminated")),
		MemoryLimit:    text(s, "resources", "limits", "memory"),
		list:           list,
	}
}

func newTermination(state any) *Termination {
	t, ok := state.(map[string]any)
	if !ok {
		return nil
	}
	end := &Termination{Reason: text(t, "reason"), Message: text(t, "message")}
	end.ExitCode, end.hasCode = t["exitCode"].(int64)
	end.StartedAt = timeAt(t, "startedAt")
	if ended := timeAt(t, "finishedAt"); !end.StartedAt.IsZero() && ended.After(end.StartedAt) {
		end.Duration = ended.Sub(end.StartedAt)
	}
	return end
}

// timeAt returns the time at a path. It is zero if there is none. Kubelets write 1970 for an unknown time.
func timeAt(object map[string]any, path ...string) time.Time {
	t, err := time.Parse(time.RFC3339, text(object, path...))
	if err != nil || t.Unix() <= 0 {
		return time.Time{}
	}
	return t
}

func value(object map[string]any, path ...string) any {
	found, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return found
}

func text(object map[string]any, path ...string) string {
	s, _ := value(object, path...).(string)
	return s
}

func number(object map[string]any, path ...string) int64 {
	n, _ := value(object, path...).(int64)
	return n
}
