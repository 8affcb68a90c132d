package changes

import (
	"fmt"
	"strings"
	"testing"

	"dwatch/watcher/object/change"
)

// TestRestarts checks that each restarted container has one line, and that other changes are still shown.
func TestRestarts(t *testing.T) {
	pod := func(web, log, ready, reason string) string {
		return fmt.Sprintf(`"spec":{"nodeName":"a"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q}],"containerStatuses":[
			{"name":"web","restartCount":%s,"state":{"running":{}},"lastState":{"terminated":{"exitCode":137,"reason":%q,"startedAt":"2026-01-31T08:56:00Z","finishedAt":"2026-01-31T08:59:00Z"}}},
			{"name":"log","restartCount":%s,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}`, ready, web, reason, log)
	}
	before := pod("3", "0", "True", "OOMKilled")
	full, masked := options(0), options(0)
	full.NoTruncate = true
	path, err := change.ParsePattern("..reason")
	if err != nil {
		t.Fatal(err)
	}
	masked.Compare.Masks = &change.Masks{Paths: change.Patterns{path}}
	updated := strings.Replace(pod("4", "0", "True", "OOMKilled"), `"restartCount":4,`, `"restartCount":4,"containerID":"b","ready":false,"started":false,"image":"web:2","imageID":"sha256:2",`, 1)
	old := strings.Replace(before, `"restartCount":3,`, `"restartCount":3,"containerID":"a","ready":true,"started":true,"image":"web:1","imageID":"sha256:1",`, 1)
	want := " ~ deploy/web  web restarted (4): OOMKilled, exit 137, after 3 min  unknown\n" +
		"           status.containerStatuses[name=web].image  web:1 → web:2\n" +
		"           status.containerStatuses[name=web].imageID  sha256:1 → sha256:2\n"
	if got := shown(t, options(0), modified(t, "Pod", old, updated)); got != want {
		t.Errorf("a new image: got\n%s\nwant\n%s", got, want)
	}
	for name, test := range map[string]struct {
		options Options
		now     string
		want    string
	}{
		"one":     {options(0), pod("4", "0", "True", "OOMKilled"), " ~ deploy/web  web restarted (4): OOMKilled, exit 137, after 3 min  unknown\n"},
		"both":    {options(0), pod("6", "1", "False", "Error"), " ✗ deploy/web  web restarted 3 times (6 in total): Error, exit 137, after 3 min; not ready  unknown\n           log restarted (1); CrashLoopBackOff\n"},
		"all new": {options(0), pod("6", "3", "True", "Error"), " ~ deploy/web  web restarted 3 times (6 in total): Error, exit 137, after 3 min  unknown\n           log restarted 3 times; CrashLoopBackOff\n"},
		"masked":  {masked, pod("4", "0", "True", "Error"), " ~ deploy/web  web restarted (4): <5 bytes>, exit 137, after 3 min  unknown\n"},
		"in full": {full, pod("4", "0", "True", "OOMKilled"), " ~ deploy/web  status.containerStatuses[name=web].restartCount  3 → 4  unknown\n"},
		"fewer":   {options(0), pod("2", "0", "True", "OOMKilled"), " ~ deploy/web  status.containerStatuses[name=web].restartCount  3 → 2  unknown\n"},
	} {
		if got := shown(t, test.options, modified(t, "Pod", before, test.now)); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, test.want)
		}
	}
}
