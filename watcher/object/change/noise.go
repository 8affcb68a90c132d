package change

import (
	"slices"
	"sync"
)

// Noise names changes that do not interest people.
type Noise struct {
	// Paths are ignored, with everything below them.
	Paths Patterns
	// UnorderedLists are the lists in which moves are ignored.
	UnorderedLists Patterns
	// OptionalZeros are the numbers for which 0 means the same as a missing field.
	OptionalZeros Patterns
}

// DefaultNoise returns the noise in objects of Kubernetes. Callers may modify the result.
func DefaultNoise() Noise {
	n := defaultNoise()
	return Noise{Paths: slices.Clone(n.Paths), UnorderedLists: slices.Clone(n.UnorderedLists), OptionalZeros: slices.Clone(n.OptionalZeros)}
}

var defaultNoise = sync.OnceValue(func() Noise {
	return Noise{
		Paths: mustParse(
			// Set at every write, or by controllers that observed one.
			"metadata.resourceVersion",
			"metadata.generation",
			"metadata.managedFields",
			"status..observedGeneration",
			"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", // a copy

			// Bookkeeping of workload controllers.
			"metadata.annotations[deployment.kubernetes.io/revision]",
			"metadata.annotations[deployment.kubernetes.io/revision-history]",
			"metadata.annotations[deployment.kubernetes.io/desired-replicas]",
			"metadata.annotations[deployment.kubernetes.io/max-replicas]",
			"metadata.annotations[deprecated.daemonset.template.generation]",
			"metadata.finalizers[=batch.kubernetes.io/job-tracking]",
			"status.uncountedTerminatedPods",

			// Repeated in replicas, hostIP, podIP and restartCount.
			"status.fullyLabeledReplicas",
			"status.hostIPs",
			"status.podIPs",
			"status..containerID",

			// Heartbeats, and times of changes that are visible elsewhere.
			"spec.renewTime", // of a Lease
			"metadata.annotations[control-plane.alpha.kubernetes.io/leader]",
			"metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]",
			"status..conditions[*].lastHeartbeatTime",
			"status..conditions[*].lastProbeTime",
			"status..conditions[*].lastUpdateTime",
			"status..conditions[*].lastTransitionTime",
			"status.startTime",
			"status..lastState.terminated.startedAt",
			"status..lastState.terminated.finishedAt",
			"lastTimestamp", // of an Event, whose count changes too
			"series.lastObservedTime",
		),
		// Controllers move the condition that they set to the end.
		UnorderedLists: mustParse("status"),
		// Controllers sometimes omit 0 and sometimes write it.
		OptionalZeros: mustParse("status"),
	}
})

// ServerSetFields returns the fields that the API server or controllers set differently in each cluster. They are noise
// when objects of two clusters are compared. Callers may modify the result.
func ServerSetFields() Patterns { return slices.Clone(serverSetFields()) }

var serverSetFields = sync.OnceValue(func() Patterns {
	return mustParse(
		"status",
		"metadata.namespace", // only differs if the user compares two namespaces
		"metadata.uid",
		"metadata.creationTimestamp",
		"metadata.selfLink",
		"metadata.ownerReferences[*].uid",

		// The node and volume to which the object was bound.
		"spec.nodeName",   // of a Pod
		"spec.volumeName", // of a PersistentVolumeClaim
		"spec.claimRef.uid",
		"spec.claimRef.resourceVersion",
		"metadata.annotations[volume.kubernetes.io/selected-node]",

		// The UID of a Job, in its labels and selector.
		"metadata.labels[controller-uid]",
		"metadata.labels[batch.kubernetes.io/controller-uid]",
		"spec.selector.matchLabels[controller-uid]",
		"spec.selector.matchLabels[batch.kubernetes.io/controller-uid]",
		"spec.template.metadata.labels[controller-uid]",
		"spec.template.metadata.labels[batch.kubernetes.io/controller-uid]",
	)
})

// prune removes noise from a copy of a value that was added or removed at the path, and counts it. It returns true if
// only noise was in the value.
func (w *walk) prune(value *any) (gone bool) {
	if isScalar(*value) {
		return false
	}
	if _, below := w.options.Noise.Paths.match(w.path); !below {
		return false
	}
	before, left := w.noise, 0
	rest := w.fields.rebuild(w.path, *value, func(step Step, part any) (any, bool) {
		w.push(step)
		defer w.pop()
		decision, noiseDepth := w.decide()
		if decision == noise {
			w.count(w.path[:noiseDepth])
			return nil, true
		}
		gone := w.prune(&part)
		if !gone {
			left++
		}
		return part, gone
	})
	if w.noise == before {
		return false
	}
	*value = rest
	return left == 0
}
