// Package pod reads what the status of a Pod says of its containers and of its eviction: pure
// functions over the status, or over the Pod as JSON, which is valid.
package pod

import (
	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Restart is that of a container.
type Restart struct {
	Container
	// New is how often it has been restarted since before.
	NewRestarts int
}

// Restarts returns the containers whose count of restarts is higher in the one state than in
// the one before, in their order. A container of which there was no status had none.
func FindRestarts(before, now string) (found []Restart) {
	was := map[string]int{}
	for _, c := range ParseContainers(before) {
		was[c.list+"/"+c.Name] = c.Restarts
	}
	for _, c := range ParseContainers(now) {
		if more := c.Restarts - was[c.list+"/"+c.Name]; more > 0 {
			found = append(found, Restart{c, more})
		}
	}
	return found
}

// Count returns how often the containers of a Pod have been restarted; 0 of any other object.
func RestartCount(object string) (sum int) {
	for _, c := range ParseContainers(object) {
		sum += c.Restarts
	}
	return sum
}

// Parse is [Containers] of a Pod; there are none of any other object.
func ParseContainers(object string) []Container {
	if !isPod(object) {
		return nil
	}
	var status map[string]any
	if utiljson.Unmarshal([]byte(gjson.Get(object, "status").Raw), &status) != nil {
		return nil
	}
	return ContainersFromStatus(status)
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
