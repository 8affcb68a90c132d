// Package pod reads the containers and the eviction of a Pod from its status. The functions are pure. JSON
// must be valid.
package pod

import (
	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Restart is a container that restarted.
type Restart struct {
	Container
	// NewRestarts is the number of restarts between the two states.
	NewRestarts int
}

// FindRestarts returns the containers whose restart count is higher in now than in before, in their order. A container
// without a status before counts as never restarted.
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

// RestartCount returns how often the containers of a Pod have restarted in total. It is 0 for any other object.
func RestartCount(object string) (sum int) {
	for _, c := range ParseContainers(object) {
		sum += c.Restarts
	}
	return sum
}

// ParseContainers returns the containers of a Pod in JSON, and nil for any other object.
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

// IsEvicted reports whether a Pod has been evicted, or is about to be: by the kubelet, by the scheduler in favor of a Pod
// with a higher priority, by a taint, or by a drain. A deletion by a user is no eviction.
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
