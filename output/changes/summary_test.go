package changes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSummary checks a status and its parts that are added or removed as a whole.
func TestSummary(t *testing.T) {
	const ready = `{"type":"Ready","status":"False","reason":"Unreachable","message":"no route\nto host","lastTransitionTime":"x"}`
	const web = `{"name":"web","image":"web:1","ready":true,"restartCount":0,"containerID":"x","state":{"running":{"startedAt":"x"}}}`
	const old = `{"name":"old","image":"old:1","ready":false,"restartCount":3,"state":{"terminated":{"exitCode":137,"reason":"OOMKilled","message":"too\u001bmuch"}}}`
	for name, c := range map[string]struct{ old, now, want string }{
		"conditions added":             {`"status":{}`, `"status":{"conditions":[` + ready + `,{"type":"Odd","status":"True"}]}`, "           status.conditions[type=Ready]  + False, Unreachable: no route to host\n           status.conditions[type=Odd]  + True\n"},
		"condition removed":            {`"status":{"conditions":[` + ready + `,{"type":"Odd","status":"True"}]}`, `"status":{"conditions":[` + ready + `],"x":{}}`, "           status.conditions[type=Odd]  removed (was True)\n           status.x  + {}\n"},
		"status added":                 {`"a":1`, `"a":2,"status":{"b":"x","conditions":[` + ready + `],"a":1}`, "           a  1 → 2\n           status.a  none → 1\n           status.b  + x\n           status.conditions[type=Ready]  + False, Unreachable: no route to host\n"},
		"condition with another field": {`"status":{"a":1}`, `"status":{"a":2,"conditions":[{"type":"Ready","status":"True","severity":"high"}]}`, "           status.a  1 → 2\n           status.conditions[type=Ready]  + {\"severity\":\"high\",\"status\":\"True\",\"type\":\"Ready\"}\n"},
		"containers":                   {`"status":{}`, `"status":{"containerStatuses":[` + web + `,` + old + `]}`, "           status.containerStatuses[name=web]  + web:1, running, ready\n           status.containerStatuses[name=old]  + old:1, restarted 3 times, terminated, exit code 137, OOMKilled: too\\u001bmuch\n"},
		"restarted once":               {`"status":{}`, `"status":{"containerStatuses":[` + web + `,` + strings.Replace(old, `"restartCount":3`, `"restartCount":1`, 1) + `]}`, "           status.containerStatuses[name=web]  + web:1, running, ready\n           status.containerStatuses[name=old]  + old:1, restarted once, terminated, exit code 137, OOMKilled: too\\u001bmuch\n"},
		"container crashes": {`"status":{"a":1,"containerStatuses":[{"name":"web","lastState":{},"state":{"running":{"startedAt":"x"}}}]}`,
			`"status":{"a":2,"containerStatuses":[{"name":"web","lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}},"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}}}]}`,
			"           status.a  1 → 2\n           status.containerStatuses[name=web].lastState.terminated  + exit code 137, OOMKilled\n           status.containerStatuses[name=web].state.running  removed (was {\"startedAt\":\"x\"})\n           status.containerStatuses[name=web].state.waiting  + CrashLoopBackOff: back-off 10s\n"},
		"condition changes": {`"a":1,"status":{"conditions":[` + ready + `,{"type":"Odd","status":"True","reason":"x"}]}`,
			`"a":2,"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Odd","status":"False","reason":"Y","message":"why\nnot"}]}`,
			"           a  1 → 2\n           status.conditions[type=Ready]  False → True\n           status.conditions[type=Odd]  True → False, Y: why not\n"},
		"only the reason changes": {`"a":1,"status":{"conditions":[{"type":"Odd","status":"True","reason":"x"}]}`, `"a":2,"status":{"conditions":[{"type":"Odd","status":"True","reason":"y"}]}`,
			"           a  1 → 2\n           status.conditions[type=Odd].reason  x → y\n"},
		"condition with another field changes": {`"status":{"conditions":[{"type":"Odd","status":"True","level":1}]}`, `"status":{"conditions":[{"type":"Odd","status":"False","level":2}]}`,
			"           status.conditions[type=Odd].level  1 → 2\n           status.conditions[type=Odd].status  True → False\n"},
		"invalid ones": {`"status":{"a":1}`, `"status":{"a":2,"conditions":[1],"containerStatuses":[{"name":"web"}]}`, "           status.a  1 → 2\n           status.conditions  + [1]\n           status.containerStatuses[name=web]  + {\"name\":\"web\"}\n"},
		"elsewhere":    {`"spec":{"a":1}`, `"spec":{"a":2,"conditions":[{"type":"A","status":"True"}]}`, "           spec.a  1 → 2\n           spec.conditions  + [{\"status\":\"True\",\"type\":\"A\"}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := shown(t, options(0), modified(t, "Gadget", c.old, c.now))
			_, got, _ := strings.Cut(lines, "\n")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
