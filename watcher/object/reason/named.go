package reason

import (
	"regexp"
	"strings"
	"sync"
)

// Named is an object, of the core group, that a reason names as what is in the way.
type Named struct {
	// Kind is that of a ConfigMap, Secret, PersistentVolumeClaim, ServiceAccount or ResourceQuota. It is in the
	// namespace of the object that the reason is of.
	Kind, Name string
	// Key is what is missing in its data; empty, and it is no quota: it is missing itself.
	Key string
}

const (
	// before is what may stand before what the kubelet, the scheduler or a controller said: what a container said
	// itself never stands behind these words.
	before = `^(?:\d+/\d+ pods \w+: |(?:init )?container [-a-z0-9]+: )*`
	called = `([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)`
)

// patterns find a key, an object and a quota. They are made when they are asked for.
var patterns = sync.OnceValue(func() (p struct{ key, object, quota *regexp.Regexp }) {
	p.key = regexp.MustCompile(before + `CreateContainerConfigError: couldn't find key ([-._a-zA-Z0-9]+) in (ConfigMap|Secret) (?:[-a-z0-9]+/)?` + called + `(?:$|[;, ])`)
	p.object = regexp.MustCompile(before + `(?:CreateContainerConfigError: |Unschedulable: (?:\d+/\d+ nodes: )?|FailedCreate: (?:error looking up service account \S+: )?|FailedMount: (?:volume "[^"]*": )?)(configmap|secret|persistentvolumeclaim|serviceaccount) "` + called + `" not found`)
	p.quota = regexp.MustCompile(before + `FailedCreate: (?:exceeded|failed) quota: ` + called + `[,:]`)
	return p
})

var kinds = map[string]string{"configmap": "ConfigMap", "secret": "Secret", "persistentvolumeclaim": "PersistentVolumeClaim", "serviceaccount": "ServiceAccount"}

// NamedBy returns the object that the text of a Reason names; false if it names none.
func NamedBy(text string) (n Named, is bool) {
	if !strings.Contains(text, "CreateContainerConfigError") && !strings.Contains(text, "FailedCreate") && !strings.Contains(text, "FailedMount") && !strings.Contains(text, "Unschedulable") {
		return n, false // most do
	}
	if m := patterns().key.FindStringSubmatch(text); m != nil {
		return Named{Kind: m[2], Name: m[3], Key: m[1]}, true
	}
	if m := patterns().object.FindStringSubmatch(text); m != nil {
		return Named{Kind: kinds[m[1]], Name: m[2]}, true
	}
	if m := patterns().quota.FindStringSubmatch(text); m != nil {
		return Named{Kind: "ResourceQuota", Name: m[1]}, true
	}
	return n, false
}
