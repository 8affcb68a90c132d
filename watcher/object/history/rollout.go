package history

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// workload is an object whose controller retains former pod templates.
type workload struct {
	target  event.Target
	object  event.Object
	content string
}

func isWorkload(o event.Object) bool {
	_, found := RevisionResources[o.GroupVersionKind().Group+"/"+o.Kind]
	return found
}

// RevisionResources maps group/kind of a workload to the resource, in group apps, that contains its former pod templates.
var RevisionResources = map[string]string{
	"apps/Deployment": "replicasets", "apps/StatefulSet": "controllerrevisions", "apps/DaemonSet": "controllerrevisions",
}

// revision is a pod template that a workload has or had.
type revision struct {
	numbers  []int64 // all known revision numbers that it has or had
	created  time.Time
	original bool   // the lowest of numbers is certainly the one at its creation
	template string // as returned by templateOf
}

// first returns the lowest number.
func (r *revision) first() int64 { return slices.Min(r.numbers) }

// AddRevision adds a ReplicaSet or ControllerRevision. It ignores other objects, objects that it already has, and objects
// that kube-controller-manager did not number.
func (h *History) AddRevision(o event.Object) {
	if o.GroupVersionKind().Group != "apps" || o.Kind != "ReplicaSet" && o.Kind != "ControllerRevision" || h.seen[o.UID] {
		return
	}
	content := o.Raw()
	if !isByController(o.Kind, content) {
		return
	}
	owner := types.UID(gjson.Get(content, `metadata.ownerReferences.#(controller==true).uid`).Str)
	r := readRevision(o.Kind, content)
	if owner == "" || len(r.numbers) == 0 || r.template == "" {
		return
	}
	if h.revisions == nil {
		h.revisions, h.seen = map[types.UID][]*revision{}, map[types.UID]bool{}
	}
	h.seen[o.UID] = true
	h.revisions[owner] = append(h.revisions[owner], r)
}

// isByController reports whether kube-controller-manager wrote the number of a revision, according to the managed fields.
// Anyone who may create ReplicaSets can create one with the owner and number of a rollout that never happened. This check
// detects that, unless the client also uses the controller's name as its field manager.
func isByController(kind, content string) bool {
	number := `f:revision`
	if kind == "ReplicaSet" {
		number = `f:metadata.f:annotations.f:deployment\.kubernetes\.io/revision`
	}
	return slices.ContainsFunc(gjson.Get(content, "metadata.managedFields").Array(), func(e gjson.Result) bool {
		return e.Get("manager").Str == "kube-controller-manager" && e.Get("fieldsV1").Get(number).Exists()
	})
}

const (
	numberOf     = `metadata.annotations.deployment\.kubernetes\.io/revision`
	numbersOf    = `metadata.annotations.deployment\.kubernetes\.io/revision-history`
	maxHistory   = 1900 // bytes; from a longer revision-history, the controller may have removed the oldest numbers
	templateHash = "pod-template-hash"
)

func readRevision(kind, content string) *revision {
	r := &revision{created: timeAt(content, "metadata.creationTimestamp")}
	add := func(text string) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			r.numbers = append(r.numbers, n)
		}
	}
	if kind == "ReplicaSet" {
		add(gjson.Get(content, numberOf).Str)
		former := gjson.Get(content, numbersOf).Str
		for _, n := range strings.Split(former, ",") {
			add(n)
		}
		r.original = len(former) < maxHistory
		r.template = templateOf(gjson.Get(content, "spec.template").Raw, templateHash)
		return r
	}
	add(gjson.Get(content, "revision").Raw)
	r.original = isUntouched(content, r.created)
	r.template = templateOf(gjson.Get(content, "data.spec.template").Raw, "")
	return r
}

// isUntouched reports whether an object has had no writes since the second of its creation, according to its managed
// fields. If a workload returns to a ControllerRevision, the controller gives it a new number, and the original one is
// lost.
func isUntouched(content string, created time.Time) bool {
	entries := gjson.Get(content, "metadata.managedFields").Array()
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e gjson.Result) bool {
		return !timeAt(e.Raw, "time").Equal(created)
	})
}

// templateOf returns a pod template as JSON in a canonical form, without fields that controllers add and, if label is not
// empty, without that label. It returns an empty string if raw is neither a JSON object nor null.
func templateOf(raw, label string) string {
	var template map[string]any
	decoder := json.NewDecoder(strings.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&template) != nil {
		return ""
	}
	delete(template, "$patch")
	if metadata, ok := template["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
		if labels, ok := metadata["labels"].(map[string]any); ok && label != "" {
			delete(labels, label)
		}
	}
	return encode(template)
}

// addRollouts adds the rollouts of a workload. The creation of a revision is the time of a rollout, and the revision with
// the preceding number has the former template. addRollouts omits returns to an earlier revision, which have no known
// time. It also omits a rollout if the preceding revision no longer exists, or if that is older than the workload, which
// may have been created with the new template.
func (h *History) addRollouts(w workload) {
	revisions := h.revisions[w.object.UID]
	born := timeAt(w.content, "metadata.creationTimestamp")
	for _, r := range revisions {
		if !r.original || !h.TimeRange.has(r.created) {
			continue
		}
		before := numbered(revisions, r.first()-1)
		if before == nil || before.created.Before(born) || before.created.After(r.created) || before.template == r.template {
			continue
		}
		if e := w.rollout(r, before, isLast(revisions, r)); !hasWaited(e) {
			h.add(e)
		}
	}
}

// maxLate is how long a controller may take to create the revision of a new template.
const maxLate = 5 * time.Second

// hasWaited reports whether a field of the template was set more than maxLate before the revision was created, according
// to the managed fields. For a paused Deployment, the controller creates the revision when it is resumed.
func hasWaited(e event.Event) bool {
	changed := change.Diff(e.Old.Raw(), e.Object.Raw(), change.Options{}).Changes
	return slices.ContainsFunc(changed, func(c change.Change) bool {
		return !c.Writer.Time.IsZero() && e.Time.Sub(c.Writer.Time) > maxLate
	})
}

// numbered returns the revision that has or had a number. It returns nil if there is none, or more than one.
func numbered(revisions []*revision, n int64) (found *revision) {
	for _, r := range revisions {
		if slices.Contains(r.numbers, n) {
			if found != nil {
				return nil
			}
			found = r
		}
	}
	return found
}

// isLast reports whether no other revision has a higher number.
func isLast(revisions []*revision, last *revision) bool {
	return !slices.ContainsFunc(revisions, func(r *revision) bool { return slices.Max(r.numbers) > slices.Max(last.numbers) })
}

// rollout returns the event for the change of the template from before to r. It includes the managed fields of the
// workload only if they still describe this change: r has the current template, and the workload did not return to it.
func (w workload) rollout(r, before *revision, last bool) event.Event {
	managed := gjson.Get(w.content, "metadata.managedFields").Raw
	known := map[string]any{}
	if last && managed != "" && len(r.numbers) == 1 && templateOf(gjson.Get(w.content, "spec.template").Raw, "") == r.template {
		known["metadata"] = map[string]any{"managedFields": json.RawMessage(managed)}
	}
	with := func(template string) event.Object {
		known["spec"] = map[string]any{"template": json.RawMessage(template)}
		return partialObject(w.object, w.content, known)
	}
	return event.Event{
		Type: event.Modified, Target: w.target, Old: with(before.template), Object: with(r.template), Time: r.created,
		Reconstructed: &event.Evidence{From: event.FromRevision, Revision: r.first()},
	}
}
