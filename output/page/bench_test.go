package page

import (
	"fmt"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// largePod is a pod of about 9 KB, with managed fields, in one of its states.
func largePod(i int) event.Object {
	var containers, managed strings.Builder
	for c := range 12 {
		fmt.Fprintf(&containers, `{"name":"c%d","image":"registry.example/app:%d","env":[{"name":"A","value":"%s"}],"resources":{"limits":{"cpu":"1"}}},`, c, c, strings.Repeat("v", 300))
		fmt.Fprintf(&managed, `"k:{\"name\":\"c%d\"}":{".":{},"f:image":{},"f:name":{},"f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}}},`, c)
	}
	return object("Pod", "a", "u1", fmt.Sprint(i+1), fmt.Sprintf(`,"labels":{"app":"a","tier":"b"},"annotations":{"at":"%d"},`+
		`"managedFields":[{"manager":"kubectl","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:at":{}}},"f:spec":{"f:containers":{%s}}}}]},`+
		`"spec":{"containers":[%s]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`,
		i, strings.TrimSuffix(managed.String(), ","), strings.TrimSuffix(containers.String(), ",")))
}

// updates are changes of a pod, each from the state before.
func updates(n int) []event.Event {
	all := make([]event.Event, n)
	for i := range all {
		all[i] = modified(pods, largePod(i), largePod(i+1), i)
	}
	return all
}

// BenchmarkDeliver measures the delivery of an event, which does not depend on the number of viewers.
func BenchmarkDeliver(b *testing.B) {
	h := newHub()
	deliver(b, h, added(pods, largePod(0), 0))
	all := updates(100)
	b.ReportAllocs()
	b.SetBytes(int64(len(all[0].Object.Raw())))
	for i := 0; b.Loop(); i++ {
		deliver(b, h, all[i%len(all)])
	}
}
