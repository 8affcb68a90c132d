// Package pod reads what the status of a Pod says of its containers' restarts and of its
// eviction: pure functions over the Pod as JSON, which is valid.
package pod

import (
	"time"

	"github.com/tidwall/gjson"
)

// lists are where a Pod has the states of its containers.
var lists = []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"}

// Restart is that of a container.
type Restart struct {
	Container string
	// Count is how often it has been restarted by now, and New how often of that since before.
	Count, New int
	// Last is how it ended before that, as far as it is said.
	Last Termination
	// Waits is why it does not run now; empty if it does, or has ended.
	Waits string
}

// Termination is how a container ended. What is not said is empty.
type Termination struct {
	Reason string
	Exit   string // 137
	Ran    time.Duration
}

// Restarts returns the containers whose count of restarts is higher in the one state than in
// the one before, in their order. A container of which there was no status had none.
func Restarts(before, now string) (found []Restart) {
	if !isPod(now) {
		return nil
	}
	was := counts(before)
	each(now, func(list string, container gjson.Result) {
		name, count := container.Get("name").Str, int(container.Get("restartCount").Int())
		if more := count - was[list+"/"+name]; more > 0 {
			found = append(found, Restart{name, count, more,
				terminationOf(container.Get("lastState.terminated")), container.Get("state.waiting.reason").Str})
		}
	})
	return found
}

// Count returns how often the containers of a Pod have been restarted; 0 of any other object.
func Count(object string) (sum int) {
	if isPod(object) {
		for _, count := range counts(object) {
			sum += count
		}
	}
	return sum
}

// Containers returns how many containers of a Pod have a status.
func Containers(object string) (n int) {
	each(object, func(string, gjson.Result) { n++ })
	return n
}

// IsEvicted reports whether something takes a Pod off its node, or has done so: the kubelet,
// the scheduler for a more important one, a taint, or who drains the node. Who deletes a Pod
// does not evict it.
func IsEvicted(object string) bool {
	if !isPod(object) {
		return false
	}
	status := gjson.Get(object, "status")
	return status.Get("reason").Str == "Evicted" ||
		status.Get(`conditions.#(type=="DisruptionTarget").status`).Str == "True"
}

func isPod(object string) bool {
	return gjson.Get(object, "kind").Str == "Pod" && gjson.Get(object, "apiVersion").Str == "v1"
}

func counts(object string) map[string]int {
	found := map[string]int{}
	each(object, func(list string, container gjson.Result) {
		found[list+"/"+container.Get("name").Str] = int(container.Get("restartCount").Int())
	})
	return found
}

func each(object string, take func(list string, container gjson.Result)) {
	status := gjson.Get(object, "status")
	for _, list := range lists {
		for _, container := range status.Get(list).Array() {
			take(list, container)
		}
	}
}

func terminationOf(t gjson.Result) Termination {
	end := Termination{Reason: t.Get("reason").Str, Exit: t.Get("exitCode").Raw}
	began, err := time.Parse(time.RFC3339, t.Get("startedAt").Str)
	ended, wrong := time.Parse(time.RFC3339, t.Get("finishedAt").Str)
	if err == nil && wrong == nil && ended.After(began) && began.Unix() > 0 {
		end.Ran = ended.Sub(began)
	}
	return end
}
