package reason

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/object/pod"
)

// ofPod: what evicted it, or keeps it from a node, or the first of its containers that does not work.
func ofPod(u *unstructured.Unstructured) Reason {
	about, _ := u.Object["status"].(map[string]any)
	if text(about, "reason") != "" {
		return Reason{Text: Because(about)}
	}
	if scheduled := Condition(u, "PodScheduled"); scheduled["status"] == "False" {
		return Reason{Text: because(text(scheduled, "reason"), unschedulable(text(scheduled, "message")))}
	}
	first := containers(u)
	if first.Text == "" && text(about, "phase") == "Running" {
		return unready(u)
	}
	return first
}

// unready: its containers are ready, as far as is known, and it is not.
func unready(u *unstructured.Unstructured) Reason {
	ready, all := Condition(u, "Ready"), Condition(u, "ContainersReady")
	switch {
	case ready["status"] != "False" || all["status"] != "True":
		return Reason{}
	case text(ready, "reason") != "":
		return Reason{Text: Because(ready)}
	}
	// This is what the node controller makes of the pods of a node that does not answer.
	return Reason{"not ready, though its containers are: its node may be gone", true}
}

// containers is what is wrong with the first that does not work.
func containers(u *unstructured.Unstructured) Reason {
	all := containersOf(u)
	c, r := broken(u, all)
	switch {
	case r.Text == "":
	case c.Init:
		r.Text = "init container " + c.Name + ": " + r.Text
	case len(all) > 1:
		r.Text = "container " + c.Name + ": " + r.Text
	}
	return r
}

// Container returns the container of a Pod that [Of] is about, the first that does not work: of the
// init containers, which run one after the other, and then of those that say why before those that do
// not. It is nil if none is known.
func Container(u *unstructured.Unstructured) *pod.Container {
	c, r := broken(u, containersOf(u))
	if r.Text == "" {
		return nil
	}
	return &c
}

// containersOf are those that a Pod is made of: how one ended that somebody added to look into it
// is not wrong with it.
func containersOf(u *unstructured.Unstructured) []pod.Container {
	return slices.DeleteFunc(pod.ContainersFromStatus(part(u.Object, "status")), func(c pod.Container) bool { return c.Ephemeral })
}

func broken(u *unstructured.Unstructured, all []pod.Container) (first pod.Container, why Reason) {
	for _, c := range all {
		r := container(u, &c)
		switch {
		case r.Text == "":
		case c.Init:
			return c, r
		case why.Text == "" || why.Open && !r.Open:
			first, why = c, r
		}
	}
	return first, why
}

// ofImage are the reasons why a container waits that are about its image.
var ofImage = []string{
	"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
	"SignatureValidationFailed",
}

func container(u *unstructured.Unstructured, c *pod.Container) Reason {
	switch why := c.Waiting.Reason; {
	case why == "", why == "ContainerCreating", why == "PodInitializing":
	case why == "CrashLoopBackOff":
		return ended(u, c, c.LastTerminated, why)
	case slices.Contains(ofImage, why):
		return Reason{Text: strings.TrimSuffix(why+" "+c.Image+": "+pull(c.Waiting.Message), ": ")}
	default:
		return Reason{Text: because(why, c.Waiting.Message)}
	}
	switch {
	case c.Terminated.HasFailed():
		return ended(u, c, c.Terminated, "")
	case !c.Running || c.Ready:
		return Reason{}
	case c.LastTerminated.HasFailed():
		r := ended(u, c, c.LastTerminated, "")
		return Reason{"runs again after " + r.Text, true}
	case c.Init:
		return Reason{"runs", true}
	}
	return Reason{unprobed(u, c), true}
}

// unprobed says of a container that runs, but is not ready, which of its probes keeps it from that,
// if the spec is there and has it.
func unprobed(u *unstructured.Unstructured, c *pod.Container) string {
	spec := named(list(u.Object, "spec", "containers"), c.Name)
	switch {
	case c.Starting && part(spec, "startupProbe") != nil:
		return "its startup probe does not succeed"
	case !c.Starting && part(spec, "readinessProbe") != nil:
		return "its readiness probe does not succeed"
	}
	return "runs, but is not ready"
}

// ended says how a container ended: OOMKilled (exit 137, 4 restarts), limit 64Mi. Of one that is
// only started again later, in a loop, that is said where its end has no name.
func ended(u *unstructured.Unstructured, c *pod.Container, how *pod.Termination, loop string) Reason {
	end := pod.Termination{}
	if how != nil {
		end = *how
	}
	word := end.Reason
	switch {
	case loop != "" && (word == "" || word == "Error"):
		word = loop
	case loop != "" && end.ExitCode == 0:
		word = loop + ": " + word
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
	if most := limit(u, c); most != "" && end.Reason == "OOMKilled" {
		word += ", limit " + most
	}
	if said := lastLine(end.Message); said != "" {
		word += ": " + said
	}
	// Of what was killed the kubelet says only in an Event whether it was because of a probe.
	const killed, asked = 128 + 9, 128 + 15
	return Reason{word, end.Reason == "Error" && (end.ExitCode == killed || end.ExitCode == asked)}
}

// limit is how much memory a container may have: as the kubelet says, or else as was asked for.
func limit(u *unstructured.Unstructured, c *pod.Container) string {
	if c.MemoryLimit != "" {
		return c.MemoryLimit
	}
	path := []string{"resources", "limits", "memory"}
	for _, kind := range []string{"containers", "initContainers"} {
		if has := text(named(list(u.Object, "spec", kind), c.Name), path...); has != "" {
			return has
		}
	}
	return text(u.Object, append([]string{"spec"}, path...)...)
}
