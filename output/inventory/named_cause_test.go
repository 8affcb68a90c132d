package inventory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// TestNamedCause checks that NamedCause is the change that caused the named fault, and not another change of that object.
func TestNamedCause(t *testing.T) {
	const (
		noKey   = `},"status":{"phase":"Pending","containerStatuses":[{"name":"app","ready":false,"state":{"waiting":{"reason":"CreateContainerConfigError","message":"couldn't find key timeout in %s shop/settings"}}}]}`
		noMap   = `},"status":{"phase":"Pending","containerStatuses":[{"name":"app","ready":false,"state":{"waiting":{"reason":"CreateContainerConfigError","message":"configmap \"settings\" not found"}}}]}`
		refused = `,"generation":1},"spec":{"replicas":3},"status":{"replicas":1,"observedGeneration":1,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"pods \"a\" is forbidden: exceeded quota: few, requested: pods=1"}]}`
	)
	maps, secrets, quotas := target("", "configmaps", "ConfigMap"), target("", "secrets", "Secret"), target("", "resourcequotas", "ResourceQuota")
	version := 0
	made := func(on event.Target, kind event.Type, name, rest string) event.Event {
		version++
		k := on.Mapping.GroupVersionKind.Kind
		o := object(k, name, "uid-"+name+k, fmt.Sprint(version), rest)
		if k == "ReplicaSet" {
			id := *o.Identity
			id.APIVersion = "apps/v1"
			o = event.NewObject(&id, strings.Replace(o.Raw(), `"v1"`, `"apps/v1"`, 1))
		}
		return event.Event{Type: kind, Target: on, Object: o}
	}
	data := func(text string) string { return `},"data":{` + text + `}` }
	sets := target("apps", "replicasets", "ReplicaSet")
	ofMap := func(text string) event.Event { return made(maps, event.Modified, "settings", data(text)) }
	wrong := func(kind string) event.Event {
		return made(pods, event.Added, "web", fmt.Sprintf(noKey, kind))
	}
	initial := func(e event.Event) event.Event { e.Type, e.Initial = event.Added, true; return e }
	there := initial(ofMap(`"timeout":"30s","theme":"dark"`))
	for name, c := range map[string]struct {
		events []event.Event // one second apart
		want   string
	}{
		"a key was removed":          {[]event.Event{there, ofMap(`"theme":"dark"`), ofMap(`"theme":"light"`), wrong("ConfigMap")}, "cm/settings data.timeout removed (was 30s)"},
		"the only key was removed":   {[]event.Event{initial(ofMap(`"timeout":"30s"`)), made(maps, event.Modified, "settings", `}`), wrong("ConfigMap")}, "cm/settings data.timeout removed (was 30s)"},
		"another key was removed":    {[]event.Event{there, ofMap(`"timeout":"30s"`), wrong("ConfigMap")}, ""},
		"the key was changed before": {[]event.Event{there, ofMap(`"timeout":"1s","theme":"dark"`), wrong("ConfigMap")}, ""},
		"removed after the problem":  {[]event.Event{there, wrong("ConfigMap"), {}, {}, {}, ofMap(`"theme":"dark"`)}, ""},
		"removed before the watch":   {[]event.Event{initial(ofMap(`"theme":"dark"`)), wrong("ConfigMap")}, ""},
		"a key of a Secret":          {[]event.Event{initial(made(secrets, event.Added, "settings", data(`"timeout":"MzBz"`))), made(secrets, event.Modified, "settings", data(``)), wrong("Secret")}, "secret/settings data.timeout removed"},
		"another kind":               {[]event.Event{there, ofMap(`"theme":"dark"`), wrong("Secret")}, ""},
		"the ConfigMap was deleted":  {[]event.Event{there, made(maps, event.Deleted, "settings", data(``)), made(pods, event.Added, "web", noMap)}, "cm/settings was deleted"},
		"the ConfigMap exists":       {[]event.Event{there, made(pods, event.Added, "web", noMap)}, ""},
		"a quota was created":        {[]event.Event{made(quotas, event.Added, "few", `},"spec":{"hard":{"pods":"9"}}`), made(sets, event.Added, "web", refused)}, "quota/few was created"},
		"a quota was reduced":        {[]event.Event{initial(made(quotas, event.Added, "few", `},"spec":{"hard":{"pods":"9"}}`)), made(quotas, event.Modified, "few", `},"spec":{"hard":{"pods":"2"}}`), made(quotas, event.Modified, "few", `,"labels":{"a":"b"}},"spec":{"hard":{"pods":"2"}}`), made(sets, event.Added, "web", refused)}, "quota/few pods 9 → 2"},
		"a quota was only labelled":  {[]event.Event{initial(made(quotas, event.Added, "few", `},"spec":{"hard":{"pods":"9"}}`)), made(quotas, event.Modified, "few", `,"labels":{"a":"b"}},"spec":{"hard":{"pods":"9"}}`), made(sets, event.Added, "web", refused)}, ""},
		"a quota of another name":    {[]event.Event{made(quotas, event.Added, "many", `},"spec":{"hard":{"pods":"9"}}`), made(sets, event.Added, "web", refused)}, ""},
	} {
		compare := change.Options{Noise: change.DefaultNoise(), Masks: &change.Masks{Secrets: true}}
		for _, options := range []Options{{}, {Compare: &compare}, {Compare: &compare, WithoutContent: true}} {
			s := newSeen(t, options)
			olds := map[string]event.Object{}
			for second, e := range c.events {
				if e.Type == "" {
					continue
				}
				e.Time = start.Add(time.Duration(second) * time.Second)
				if e.Type == event.Modified {
					e.Old = olds[string(e.Object.UID)]
				}
				olds[string(e.Object.UID)] = e.Object
				s.deliver(e)
			}
			all := s.Problems(start.Add(time.Minute), 10, compare)
			if len(all) != 1 {
				t.Fatalf("%s: %d problems", name, len(all))
			}
			all[0].Cause = nil
			short := map[string]string{"configmaps": "cm", "secrets": "secret", "resourcequotas": "quota"}
			if got := all[0].Describe(start, NameOptions{ShortName: func(r schema.GroupResource) string { return short[r.Resource] }}).Cause; got != c.want {
				t.Errorf("%s, %+v: %q, want %q", name, options.WithoutContent, got, c.want)
			}
		}
	}
}
