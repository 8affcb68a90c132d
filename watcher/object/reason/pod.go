package reason

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pod: what evicted it, or keeps it from a node, or the first of its containers that does not work.
func pod(u *unstructured.Unstructured) Reason {
	about, _ := u.Object["status"].(map[string]any)
	if text(about, "reason") != "" {
		return Reason{Text: Because(about)}
	}
	if scheduled := Condition(u, "PodScheduled"); scheduled["status"] == "False" {
		return Reason{Text: Because(map[string]any{"reason": scheduled["reason"], "message": unschedulable(text(scheduled, "message"))})}
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

// containers is the first that does not work: of the init containers, which run one after the
// other, and then of those that say why before those that do not.
func containers(u *unstructured.Unstructured) (first Reason) {
	inits, others := list(u.Object, "status", "initContainerStatuses"), list(u.Object, "status", "containerStatuses")
	for _, s := range inits {
		if s, ok := s.(map[string]any); ok {
			if r := container(u, s, true); r.Text != "" {
				return Reason{"init container " + text(s, "name") + ": " + r.Text, r.Open}
			}
		}
	}
	for _, s := range others {
		s, ok := s.(map[string]any)
		if !ok {
			continue
		}
		r := container(u, s, false)
		if r.Text == "" || first.Text != "" && (!first.Open || r.Open) {
			continue
		}
		if len(inits)+len(others) > 1 {
			r.Text = "container " + text(s, "name") + ": " + r.Text
		}
		first = r
	}
	return first
}

// ofImage are the reasons why a container waits that are about its image.
var ofImage = []string{
	"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
	"SignatureValidationFailed",
}

func container(u *unstructured.Unstructured, s map[string]any, init bool) Reason {
	ready, _ := s["ready"].(bool)
	waiting, terminated := part(s, "state", "waiting"), part(s, "state", "terminated")
	before := part(s, "lastState", "terminated")
	switch why := text(waiting, "reason"); {
	case why == "", why == "ContainerCreating", why == "PodInitializing":
	case why == "CrashLoopBackOff":
		return ended(u, s, before, why)
	case slices.Contains(ofImage, why):
		return Reason{Text: strings.TrimSuffix(why+" "+text(s, "image")+": "+pull(text(waiting, "message")), ": ")}
	default:
		return Reason{Text: Because(waiting)}
	}
	switch runs := part(s, "state", "running") != nil; {
	case terminated != nil && number(terminated, "exitCode") != 0:
		return ended(u, s, terminated, "")
	case !runs || ready:
		return Reason{}
	case number(before, "exitCode") != 0:
		r := ended(u, s, before, "")
		return Reason{"runs again after " + r.Text, true}
	case init:
		return Reason{"runs", true}
	}
	return Reason{unprobed(u, s), true}
}

// unprobed says of a container that runs, but is not ready, which of its probes keeps it from that,
// if the spec is there and has it.
func unprobed(u *unstructured.Unstructured, s map[string]any) string {
	spec := named(list(u.Object, "spec", "containers"), text(s, "name"))
	started, known := s["started"].(bool)
	switch isStarting := known && !started; {
	case isStarting && part(spec, "startupProbe") != nil:
		return "its startup probe does not succeed"
	case !isStarting && part(spec, "readinessProbe") != nil:
		return "its readiness probe does not succeed"
	}
	return "runs, but is not ready"
}

// ended says how a container ended: OOMKilled (exit 137, 4 restarts), limit 64Mi. Of one that is
// only started again later, in a loop, that is said where its end has no name.
func ended(u *unstructured.Unstructured, s, how map[string]any, loop string) Reason {
	word, code := text(how, "reason"), number(how, "exitCode")
	switch {
	case loop != "" && (word == "" || word == "Error"):
		word = loop
	case loop != "" && code == 0:
		word = loop + ": " + word
	case word == "":
		word = "Error"
	}
	var details []string
	if how != nil {
		details = append(details, fmt.Sprintf("exit %d", code))
	}
	switch n := number(s, "restartCount"); {
	case n == 1:
		details = append(details, "1 restart")
	case n > 1:
		details = append(details, fmt.Sprintf("%d restarts", n))
	}
	if len(details) > 0 {
		word += " (" + strings.Join(details, ", ") + ")"
	}
	if most := limit(u, s); most != "" && text(how, "reason") == "OOMKilled" {
		word += ", limit " + most
	}
	if said := lastLine(text(how, "message")); said != "" {
		word += ": " + said
	}
	// Of what was killed the kubelet says only in an Event whether it was because of a probe.
	const killed, asked = 128 + 9, 128 + 15
	return Reason{word, text(how, "reason") == "Error" && (code == killed || code == asked)}
}

// limit is how much memory a container may have: as the kubelet says, or else as was asked for.
func limit(u *unstructured.Unstructured, s map[string]any) string {
	path := []string{"resources", "limits", "memory"}
	if has := text(s, path...); has != "" {
		return has
	}
	for _, kind := range []string{"containers", "initContainers"} {
		if has := text(named(list(u.Object, "spec", kind), text(s, "name")), path...); has != "" {
			return has
		}
	}
	return text(u.Object, append([]string{"spec"}, path...)...)
}
