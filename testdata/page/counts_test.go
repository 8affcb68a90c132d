package page

import (
	"fmt"
	"testing"
	"time"
)

// runningJob is a Job that only the test finishes.
const runningJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: import}
spec:
  managedBy: example.com/test
  template:
    spec:
      restartPolicy: Never
      containers: [{name: import, image: "import:3"}]
`

// TestRunningJob checks that the duration of a running Job counts up without events, and stops when the Job has
// completed.
func TestRunningJob(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, runningJob, "create", "-n", ns, "-f", "-")
	begun := time.Now().Add(-100 * time.Second)
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	status := func(patch string) {
		c.kubectl(t, "", "-n", ns, "patch", "job", "import", "--subresource=status", "--type=merge", "-p", `{"status":{`+patch+`}}`)
	}
	status(fmt.Sprintf(`"startTime":%q`, at(begun)))
	b := open(t, serve(t, c, "jobs", "-n", ns).url, look{})
	b.awaitLive()
	place := `[...document.querySelectorAll("#heading .row > *")].findIndex((e) => e.textContent === "Duration")`
	cell := row("import") + `?.children[` + place + `]?.textContent`
	age := row("import") + `.querySelector(".age").textContent`
	b.await(`parseInt(` + cell + `) >= 1`) // 100s, or 1m45s
	told := value[string](b, cell)
	b.await(cell + ` !== ` + quote(told)) // it counts up
	if value[bool](b, row("import")+`.classList.contains("fresh")`) {
		t.Error("counting up is shown as a change")
	}

	end := at(begun.Add(30 * time.Second))
	done := fmt.Sprintf(`{"type":"SuccessCriteriaMet","status":"True","lastTransitionTime":%[1]q},{"type":"Complete","status":"True","lastTransitionTime":%[1]q}`, end)
	status(fmt.Sprintf(`"completionTime":%q,"succeeded":1,"uncountedTerminatedPods":{},"conditions":[%s]`, end, done))
	b.await(cell + ` === "30s"`)
	for range 2 { // seconds
		told := value[string](b, age)
		b.await(age + ` !== ` + quote(told))
	}
	if told := value[string](b, cell); told != "30s" {
		t.Errorf("the duration of the completed Job still changes: %s", told)
	}
}
