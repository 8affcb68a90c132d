package reason

import (
	"regexp"
	"strings"
	"sync"
)

// Culprit is an object of the core group that a reason blames: the object or a key of it is missing, or it is a quota that
// does not allow a new object.
type Culprit struct {
	// Kind is ConfigMap, Secret, PersistentVolumeClaim, ServiceAccount or ResourceQuota. The object is in the namespace
	// of the object that the reason is about.
	Kind, Name string
	// Key is the missing key of its data. If it is empty, the object itself is missing, or is a quota.
	Key string
}

const (
	// prefixPattern matches what may precede the words of the kubelet, the scheduler or a controller. The words of a
	// container itself never follow it.
	prefixPattern = `^(?:\d+/\d+ pods \w+: |(?:init )?container [-a-z0-9]+: )*`
	namePattern   = `([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)`
)

// patterns are compiled when they are first needed.
var patterns = sync.OnceValue(func() (p struct{ key, object, quota *regexp.Regexp }) {
	p.key = regexp.MustCompile(prefixPattern + `CreateContainerConfigError: couldn't find key ([-._a-zA-Z0-9]+) in (ConfigMap|Secret) (?:[-a-z0-9]+/)?` + namePattern + `(?:$|[;, ])`)
	p.object = regexp.MustCompile(prefixPattern + `(?:CreateContainerConfigError: |Unschedulable: (?:\d+/\d+ nodes: )?|FailedCreate: (?:error looking up service account \S+: )?|FailedMount: (?:volume "[^"]*": )?)(configmap|secret|persistentvolumeclaim|serviceaccount) "` + namePattern + `" not found`)
	p.quota = regexp.MustCompile(prefixPattern + `FailedCreate: (?:exceeded|failed) quota: ` + namePattern + `[,:]`)
	return p
})

// kinds maps the names in messages to kinds.
var kinds = map[string]string{"configmap": "ConfigMap", "secret": "Secret", "persistentvolumeclaim": "PersistentVolumeClaim", "serviceaccount": "ServiceAccount"}

// FindCulprit returns the object that the text of a Reason blames, and false if there is none.
func FindCulprit(text string) (n Culprit, ok bool) {
	if !strings.Contains(text, "CreateContainerConfigError") && !strings.Contains(text, "FailedCreate") && !strings.Contains(text, "FailedMount") && !strings.Contains(text, "Unschedulable") {
		return n, false // most texts
	}
	if m := patterns().key.FindStringSubmatch(text); m != nil {
		return Culprit{Kind: m[2], Name: m[3], Key: m[1]}, true
	}
	if m := patterns().object.FindStringSubmatch(text); m != nil {
		return Culprit{Kind: kinds[m[1]], Name: m[2]}, true
	}
	if m := patterns().quota.FindStringSubmatch(text); m != nil {
		return Culprit{Kind: "ResourceQuota", Name: m[1]}, true
	}
	return n, false
}
