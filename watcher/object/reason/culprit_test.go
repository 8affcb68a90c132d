package reason

import "testing"

// TestFindCulprit checks which object a reason blames. Texts of containers that look similar blame none.
func TestFindCulprit(t *testing.T) {
	for text, want := range map[string]Culprit{
		"CreateContainerConfigError: couldn't find key time.out in ConfigMap shop/settings":                              {"ConfigMap", "settings", "time.out"},
		"init container migrate: CreateContainerConfigError: couldn't find key a_B in Secret shop/db":                    {"Secret", "db", "a_B"},
		"container web: CreateContainerConfigError: configmap \"settings\" not found":                                    {"ConfigMap", "settings", ""},
		"Unschedulable: 0/3 nodes: persistentvolumeclaim \"data\" not found":                                             {"PersistentVolumeClaim", "data", ""},
		"0/1 pods created: FailedCreate: error looking up service account shop/web: serviceaccount \"web\" not found":    {"ServiceAccount", "web", ""},
		"2/6 pods created: FailedCreate: exceeded quota: few, requested: pods=1, used: pods=9, limited: pods=9":          {"ResourceQuota", "few", ""},
		"FailedCreate: failed quota: few: must specify limits.cpu":                                                       {"ResourceQuota", "few", ""},
		"CrashLoopBackOff (exit 1, 2 restarts): FailedCreate: exceeded quota: few, requested":                            {},
		"CrashLoopBackOff (exit 1): container web: CreateContainerConfigError: couldn't find key a in ConfigMap shop/db": {},
		"CreateContainerConfigError: couldn't find key a b in ConfigMap shop/settings":                                   {},
		"CreateContainerConfigError: couldn't find key a in ConfigMap shop/../settings":                                  {},
		"CreateContainerConfigError: secret \"..\" not found":                                                            {},
		"FailedMount: volume \"config\": configmap \"shop\" not found (3m ago)":                                          {"ConfigMap", "shop", ""},
		"FailedMount: volume \"x\": references non-existent config key: a":                                               {},
		"ImagePullBackOff nginx:1.288: not found":                                                                        {},
		"": {},
	} {
		if got, is := FindCulprit(text); got != want || is != (want != Culprit{}) {
			t.Errorf("%s: got %v, %v", text, got, is)
		}
	}
}
