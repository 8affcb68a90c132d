package change

import (
	"slices"
	"sync"
)

// Noise is what changes without telling people anything.
type Noise struct {
	// Paths are those at and below which no change counts.
	Paths Patterns
	// Moves are the lists in which the order of items does not count.
	UnorderedLists Patterns
	// Zeros are the numbers of which 0 says the same as that there is none.
	OptionalZeros Patterns
}

// DefaultNoise returns what is noise in Kubernetes. The result is the caller's to change.
func DefaultNoise() Noise {
	n := defaultNoise()
	return Noise{Paths: slices.Clone(n.Paths), UnorderedLists: slices.Clone(n.UnorderedLists), OptionalZeros: slices.Clone(n.OptionalZeros)}
}

var defaultNoise = sync.OnceValue(func() Noise {
	return Noise{
		Paths: mustParse(
			// Every write sets these, or whoever sees it.
			"metadata.resourceVersion",
			"metadata.generation",
			"metadata.managedFields",
			"status..observedGeneration",
			"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", // a copy

			// Numbers that controllers of workloads keep for themselves.
			"metadata.annotations[deployment.kubernetes.io/revision]",
			"metadata.annotations[deployment.kubernetes.io/revision-history]",
			"metadata.annotations[deployment.kubernetes.io/desired-replicas]",
			"metadata.annotations[deployment.kubernetes.io/max-replicas]",
			"metadata.annotations[deprecated.daemonset.template.generation]",
			"metadata.finalizers[=batch.kubernetes.io/job-tracking]",
			"status.uncountedTerminatedPods",

			// What is said beside it: by replicas, hostIP, podIP and restartCount.
			"status.fullyLabeledReplicas",
			"status.hostIPs",
			"status.podIPs",
			"status..containerID",

			// Times of signs of life, and those that say when what changed besides did.
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
			"lastTimestamp", // of an Event, whose count says it
			"series.lastObservedTime",
		),
		// Controllers put the condition that they have set last.
		UnorderedLists: mustParse("status"),
		// Controllers write 0 where there was nothing before, and leave 0 out.
		OptionalZeros: mustParse("status"),
	}
})

// ServerMade returns what a server, or a controller at its cluster, makes for each object: noise
// between the same objects of two clusters. The result is the caller's to change.
func ServerSetFields() Patterns { return slices.Clone(serverMade()) }

var serverMade = sync.OnceValue(func() Patterns {
	return mustParse(
		"status",
		"metadata.namespace", // where it is not the same, this is meant
		"metadata.uid",
		"metadata.creationTimestamp",
		"metadata.selfLink",
		"metadata.ownerReferences[*].uid",

		// Where it was put, and what it was bound to.
		"spec.nodeName",   // of a Pod
		"spec.volumeName", // of a PersistentVolumeClaim
		"spec.claimRef.uid",
		"spec.claimRef.resourceVersion",
		"metadata.annotations[volume.kubernetes.io/selected-node]",

		// The UID of a Job, in what it selects by.
		"metadata.labels[controller-uid]",
		"metadata.labels[batch.kubernetes.io/controller-uid]",
		"spec.selector.matchLabels[controller-uid]",
		"spec.selector.matchLabels[batch.kubernetes.io/controller-uid]",
		"spec.template.metadata.labels[controller-uid]",
		"spec.template.metadata.labels[batch.kubernetes.io/controller-uid]",
	)
})

// prune takes what is noise out of a copy of a value that was added or removed at the
// path, counts it, and reports whether nothing is left.
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
		decision, quiet := w.decide()
		if decision == noise {
			w.count(w.path[:quiet])
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
