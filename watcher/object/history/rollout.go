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

// workload is an object whose former templates are kept.
type workload struct {
	target  event.Target
	object  event.Object
	content string
}

func isWorkload(o event.Object) bool {
	_, there := RevisionResources[o.GroupVersionKind().Group+"/"+o.Kind]
	return there
}

// RevisionsOf has, by group/kind of workloads, the resource of group apps that keeps their former
// templates.
var RevisionResources = map[string]string{
	"apps/Deployment": "replicasets", "apps/StatefulSet": "controllerrevisions", "apps/DaemonSet": "controllerrevisions",
}

// revision is a template that a workload has or had.
type revision struct {
	numbers  []int64 // all that it has had
	created  time.Time
	original bool // the least of numbers is that with which it was created
	template string
}

func (r *revision) first() int64 { return slices.Min(r.numbers) }

// AddRevision takes a ReplicaSet or a ControllerRevision; other objects say nothing. The same one
// may come twice.
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

// isByController reports whether kube-controller-manager wrote the number of a revision, as the managed
// fields say. Anyone who may create ReplicaSets can create one with the owner and number of a rollout
// that never was. Only a client that also takes the controller's name remains undetected.
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
	maxHistory   = 1900 // bytes of it, from which on the controller cuts it at its front
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

// isUntouched reports whether an object is as it was created: a ControllerRevision to which a
// workload returned has another number, and does not say which it had.
func isUntouched(content string, created time.Time) bool {
	entries := gjson.Get(content, "metadata.managedFields").Array()
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e gjson.Result) bool {
		return !timeAt(e.Raw, "time").Equal(created)
	})
}

// templateOf returns a template in one form, without what controllers add to it.
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

// addRollouts adds what the revisions of a workload say: one that is new shows when the template
// came, and the one before it, by number, what it was. One to which the workload returned does not
// show when, and nothing is said where the one before is not kept, or is older than the workload,
// which may have come with the template.
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

// maxLate is how long a controller may take to see a new template.
const maxLate = 5 * time.Second

// hasWaited reports whether something of a template was set long before its revision came, as far
// as that is known: that of a Deployment that was paused comes when it is resumed.
func hasWaited(e event.Event) bool {
	changed := change.Diff(e.Old.Raw(), e.Object.Raw(), change.Options{}).Changes
	return slices.ContainsFunc(changed, func(c change.Change) bool {
		return !c.Writer.Time.IsZero() && e.Time.Sub(c.Writer.Time) > maxLate
	})
}

// numbered returns the one revision that had a number; nil if none is kept, or several had it.
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

func isLast(revisions []*revision, last *revision) bool {
	return !slices.ContainsFunc(revisions, func(r *revision) bool { return slices.Max(r.numbers) > slices.Max(last.numbers) })
}

// rollout returns the event that a template came. Who set what of it the workload itself says, as
// long as it has that template, and had it once.
func (w workload) rollout(r, before *revision, last bool) event.Event {
	managed := gjson.Get(w.content, "metadata.managedFields").Raw
	known := map[string]any{}
	if last && managed != "" && len(r.numbers) == 1 && templateOf(gjson.Get(w.content, "spec.template").Raw, "") == r.template {
		known["metadata"] = map[string]any{"managedFields": json.RawMessage(managed)}
	}
	with := func(template string) event.Object {
		known["spec"] = map[string]any{"template": json.RawMessage(template)}
		return part(w.object, w.content, known)
	}
	return event.Event{
		Type: event.Modified, Target: w.target, Old: with(before.template), Object: with(r.template), Time: r.created,
		Reconstructed: &event.Evidence{From: event.FromRevision, Revision: r.first()},
	}
}
