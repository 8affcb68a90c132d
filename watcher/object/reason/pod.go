package reason

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/object/pod"
)

// podReason returns the reason in the status (such as an eviction), or why the Pod has no node, or what is wrong with
// one of its containers, or why the Pod is not ready although its containers are.
func podReason(u *unstructured.Unstructured) Reason {
	status := submap(u.Object, "status")
	if text(status, "reason") != "" {
		return Reason{Text: Because(status)}
	}
	if scheduled := Condition(u, "PodScheduled"); scheduled["status"] == "False" {
		return Reason{Text: join(text(scheduled, "reason"), trimScheduling(text(scheduled, "message")))}
	}
	r := containerReason(u)
	if r.Text == "" && text(status, "phase") == "Running" {
		return unreadyReason(u)
	}
	return r
}

// unreadyReason returns why a Pod is not ready although its containers are.
func unreadyReason(u *unstructured.Unstructured) Reason {
	ready, all := Condition(u, "Ready"), Condition(u, "ContainersReady")
	switch {
	case ready["status"] != "False" || all["status"] != "True":
		return Reason{}
	case text(ready, "reason") != "":
		return Reason{Text: Because(ready)}
	}
	// The node controller does this to the pods of a node that does not respond.
	return Reason{"not ready, though its containers are: its node may be gone", true}
}

// containerReason returns what is wrong with the container that Container returns.
func containerReason(u *unstructured.Unstructured) Reason {
	all := ownContainers(u)
	c, r := firstBroken(u, all)
	if r.Text != "" {
		r.Text = prefix(&c, len(all)) + r.Text
	}
	return r
}

// prefix names the container if the Pod has several.
func prefix(c *pod.Container, containers int) string {
	switch {
	case c.Init:
		return "init container " + c.Name + ": "
	case containers > 1:
		return "container " + c.Name + ": "
	}
	return ""
}

// Container returns the container that the reason of a Pod is about: the first broken init container, or else the first
// broken container that says why, or else the first broken one. It returns nil if there is none. It does not check whether
// the Pod itself has a reason, such as an eviction, which Of prefers.
func Container(u *unstructured.Unstructured) *pod.Container {
	c, r := firstBroken(u, ownContainers(u))
	if r.Text == "" {
		return nil
	}
	return &c
}

// CrashLoop returns how the previous run of a container ended that keeps crashing.
func CrashLoop(u *unstructured.Unstructured, c *pod.Container) Reason {
	r := terminationReason(u, c, c.LastTerminated, "CrashLoopBackOff")
	r.Text = prefix(c, len(ownContainers(u))) + r.Text
	return r
}

// ownContainers returns the containers of a Pod without ephemeral ones: their end is not a problem of the Pod.
func ownContainers(u *unstructured.Unstructured) []pod.Container {
	return slices.DeleteFunc(pod.ContainersFromStatus(submap(u.Object, "status")), func(c pod.Container) bool { return c.Ephemeral })
}

func firstBroken(u *unstructured.Unstructured, all []pod.Container) (first pod.Container, why Reason) {
	for _, c := range all {
		r := brokenReason(u, &c)
		switch {
		case r.Text == "":
		case c.Init:
			return c, r
		case why.Text == "" || why.NeedsEvents && !r.NeedsEvents:
			first, why = c, r
		}
	}
	return first, why
}

// imageReasons are the reasons for waiting that are about the image of a container.
var imageReasons = []string{
	"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
	"SignatureValidationFailed",
}

// brokenReason returns what is wrong with a container. Its text is empty if the container works, has succeeded or is about
// to start.
func brokenReason(u *unstructured.Unstructured, c *pod.Container) Reason {
	switch why := c.Waiting.Reason; {
	case why == "", why == "ContainerCreating", why == "PodInitializing":
	case why == "CrashLoopBackOff":
		return terminationReason(u, c, c.LastTerminated, why)
	case slices.Contains(imageReasons, why):
		return Reason{Text: strings.TrimSuffix(why+" "+c.Image+": "+trimPull(c.Waiting.Message), ": ")}
	default:
		return Reason{Text: join(why, c.Waiting.Message)}
	}
	switch {
	case c.Terminated.HasFailed():
		return terminationReason(u, c, c.Terminated, "")
	case !c.Running || c.Ready:
		return Reason{}
	case c.LastTerminated.HasFailed():
		r := terminationReason(u, c, c.LastTerminated, "")
		return Reason{"runs again after " + r.Text, true}
	case c.Init:
		return Reason{"runs", true}
	}
	return Reason{probeReason(u, c), true}
}

// probeReason returns which probe keeps a running container from being ready. If the spec has no such probe, it only
// returns that the container runs and is not ready.
func probeReason(u *unstructured.Unstructured, c *pod.Container) string {
	spec := byName(list(u.Object, "spec", "containers"), c.Name)
	switch {
	case c.Starting && submap(spec, "startupProbe") != nil:
		return "its startup probe does not succeed"
	case !c.Starting && submap(spec, "readinessProbe") != nil:
		return "its readiness probe does not succeed"
	}
	return "runs, but is not ready"
}

// terminationReason describes how a container ended, such as "OOMKilled (exit 137, 4 restarts), limit 64Mi". backoff is
// the reason for waiting of a container that crashes repeatedly. It is used if the end has no name of its own, and precedes
// the name if the exit code is 0.
func terminationReason(u *unstructured.Unstructured, c *pod.Container, how *pod.Termination, backoff string) Reason {
	end := pod.Termination{}
	if how != nil {
		end = *how
	}
	word := end.Reason
	switch {
	case backoff != "" && (word == "" || word == "Error"):
		word = backoff
	case backoff != "" && end.ExitCode == 0:
		word = backoff + ": " + word
	case word == "":
		word = "Error"
	}
	var details []string
	if exit := how.ExitText(); exit != "" {
		details = append(details, exit)
	}
	switch n := c.Restarts; {
	case n == 1:
		details = append(details, "1 restart")
	case n > 1:
		details = append(details, fmt.Sprintf("%d restarts", n))
	}
	if len(details) > 0 {
		word += " (" + strings.Join(details, ", ") + ")"
	}
	if limit := memoryLimit(u, c); limit != "" && end.Reason == "OOMKilled" {
		word += ", limit " + limit
	}
	if last := lastLine(end.Message); last != "" {
		word += ": " + last
	}
	// If a signal ended the container, only an Event tells whether the kubelet sent it because of a probe.
	const sigkill, sigterm = 128 + 9, 128 + 15
	return Reason{word, end.Reason == "Error" && (end.ExitCode == sigkill || end.ExitCode == sigterm)}
}

// memoryLimit returns the limit that the kubelet reports, or else the one in the spec.
func memoryLimit(u *unstructured.Unstructured, c *pod.Container) string {
	if c.MemoryLimit != "" {
		return c.MemoryLimit
	}
	path := []string{"resources", "limits", "memory"}
	for _, kind := range []string{"containers", "initContainers"} {
		if limit := text(byName(list(u.Object, "spec", kind), c.Name), path...); limit != "" {
			return limit
		}
	}
	return text(u.Object, append([]string{"spec"}, path...)...)
}
