package page

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recorded is a recording of the ConfigMaps in a namespace.
type recorded struct {
	t      *testing.T
	c      *cluster
	ns     string
	dir    string
	binary string
}

func newRecorded(t *testing.T, c *cluster, ns string) *recorded {
	t.Helper()
	binary, err := dwatchBinary()
	if err != nil {
		t.Fatal(err)
	}
	return &recorded{t, c, ns, filepath.Join(t.TempDir(), "rec"), binary}
}

// record starts a recorder. end stops it.
func (r *recorded) record(args ...string) (end func()) {
	r.t.Helper()
	recorder := exec.Command(r.binary, append([]string{"record", r.dir, "cm", "-n", r.ns, "--kubeconfig", r.c.kubeconfig}, args...)...)
	if err := recorder.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { recorder.Process.Kill() })
	return func() {
		recorder.Process.Signal(os.Interrupt)
		recorder.Wait() // its exit code does not matter
	}
}

// betweenLooks is the interval at which tests poll the size of a recording.
const betweenLooks = 100 * time.Millisecond

// size returns the present size of the recording in bytes.
func (r *recorded) size() (bytes int64) {
	filepath.WalkDir(r.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil { // the file does not exist yet, or no longer
			return nil
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// until calls look, again each time that the recording has grown, until look returns true.
func (r *recorded) until(look func() (is bool, found string)) {
	r.t.Helper()
	end := time.Now().Add(5 * patience)
	for {
		size := r.size()
		is, found := look()
		if is {
			return
		}
		for r.size() == size {
			if time.Now().After(end) {
				r.t.Fatalf("the recording does not grow: %s", found)
			}
			time.Sleep(betweenLooks)
		}
		if time.Now().After(end) {
			r.t.Fatalf("the recording does not reach the expected state: %s", found)
		}
	}
}

// awaits waits until a command prints what for the recording, however incomplete the output is.
func (r *recorded) awaits(what string, args ...string) {
	r.t.Helper()
	r.until(func() (bool, string) {
		out, _ := exec.Command(r.binary, append(args, "--from", r.dir)...).Output() // the command fails because the beginning is not covered
		return strings.Contains(string(out), what), fmt.Sprintf("no %s in %s", what, out)
	})
}

// proves waits until the recording covers a time from now. If the machine delayed the recorder at that time, this may
// never happen, so proves takes a later time after a while. It also changes a ConfigMap repeatedly: a change proves that
// the watch is up to date with the server, and without one a bookmark would take up to a minute. All contexts belong to
// one cluster.
func (r *recorded) proves(c *cluster, name string) {
	r.t.Helper()
	changes, at := 0, time.Now()
	r.until(func() (bool, string) {
		out, err := exec.Command(r.binary, "list", "cm", "--at", at.UTC().Format(time.RFC3339Nano), "--from", r.dir).CombinedOutput()
		if err != nil {
			changes++
			c.patch(r.t, r.ns, name, fmt.Sprintf(`{"metadata":{"annotations":{"change":"%d"}}}`, changes))
			if time.Since(at) > patience {
				at = time.Now()
			}
		}
		return err == nil, fmt.Sprintf("%v: %s", err, out)
	})
}

// slide sets the slider of the page to a JavaScript expression of the slider s.
func (b *tab) slide(to string) {
	b.t.Helper()
	value[bool](b, `((s) => { s.value = `+to+`; s.dispatchEvent(new Event("input")); return true; })(document.querySelector("#past input"))`)
}

// TestPast checks that the page shows a recording at the time in its address. The slider and buttons lead to other
// times, and show gaps. The recorder may still be running.
func TestPast(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	r := newRecorded(t, c, ns)
	defer r.record()()
	r.awaits("alpha", "cm")
	then := time.Now().UnixMilli()
	c.patch(t, ns, "alpha", `{"data":{"more":"v"}}`)
	r.awaits("MODIFIED", "cm/alpha")
	c.kubectl(t, "", "-n", ns, "delete", "cm", "alpha")
	r.awaits("DELETED", "cm/alpha")

	b := open(t, serve(t, nil, "cm", "--from", r.dir, "--since", "1h").url, look{})
	// The time before the recording is unknown. The slider and the page show that.
	b.await(`!document.getElementById("past").hidden && document.querySelector("#past .gaps i") && document.querySelector("#past summary").textContent.includes("gap")`)
	value[bool](b, `document.querySelector("#past details li button").click() ?? true`)
	b.await(`document.getElementById("watch-state").textContent === "Not known" && !document.getElementById("down").hidden && !` + row("alpha"))
	// A link leads to a time, and the object is shown as it was then.
	const shown = `Number(new URLSearchParams(location.search).get("time"))`
	b.navigate(value[string](b, fmt.Sprintf(`location.origin + location.pathname + "?time=%d"`, then)))
	b.await(row("alpha"))
	if got := value[int64](b, shown); got != then {
		t.Errorf("a link to %d leads to %d", then, got)
	}
	value[bool](b, row("alpha")+`.click() ?? true`)
	b.await(`document.querySelector("#detail pre.yaml")?.textContent.includes("name: alpha") && !document.querySelector("#detail pre.yaml").textContent.includes("more: v")`)
	// The end moves as the recording grows.
	objects(t, c, ns, "omega")
	r.awaits("omega", "cm/omega")
	value[bool](b, `[...document.querySelectorAll("#past button")].find((b) => b.textContent === "End").click() ?? true`)
	b.await(row("omega"))
	// To the beginning, and forward from there.
	b.slide("s.min")
	b.await(shown + ` < ` + fmt.Sprint(then-1000) + ` && !` + row("omega"))
	value[bool](b, `document.querySelector("#past .play").click() ?? true`)
	b.await(shown + ` > Number(document.querySelector("#past input").min) + 2000`)
	value[bool](b, `document.querySelector("#past .play").click() ?? true`)
	b.await(`document.querySelector("#past .play").textContent === "Play"`)
}

// TestPastClusters checks that the page of a recording of several clusters shows the cluster of each object, and for
// each time which clusters the recording covers.
func TestPastClusters(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	fleet := multiCluster(t, ns, map[string]*cluster{"eu": c, "us": c})
	r := newRecorded(t, fleet, ns)
	defer r.record("--context", "eu,us")()
	r.awaits(`"cluster":"eu"`, "cm")
	r.awaits(`"cluster":"us"`, "cm")
	r.proves(c, "alpha")
	line := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#clusters button")].find((e) => e.querySelector(".cluster").textContent === %q)`, name)
	}

	b := open(t, serve(t, nil, "cm", "--from", r.dir, "--since", "1h").url, look{})
	b.await(rowIn("eu", "alpha") + ` && ` + rowIn("us", "alpha"))
	b.await(line("eu") + `?.className === "is-live" && ` + line("us") + `?.className === "is-live"`)
	b.slide("s.min")
	b.await(line("eu") + `?.className === "is-unknown" && ` + line("us") + `?.textContent.includes("not known")`)
	b.await(`document.getElementById("down").textContent.includes("us: ") && !` + rowIn("us", "alpha"))
	b.await(`document.querySelector("#past details").textContent.includes(" eu: ")`)
	b.checkAccessWhile("a recording of several clusters", `document.getElementById("watch-state").textContent === "Not known"`)
}
