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

// recorded is a recording of the ConfigMaps of a namespace.
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

// record records until end is called.
func (r *recorded) record(args ...string) (end func()) {
	r.t.Helper()
	recorder := exec.Command(r.binary, append([]string{"record", r.dir, "cm", "-n", r.ns, "--kubeconfig", r.c.kubeconfig}, args...)...)
	if err := recorder.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { recorder.Process.Kill() })
	return func() {
		recorder.Process.Signal(os.Interrupt)
		recorder.Wait() // how it ended is not what is tested
	}
}

// betweenLooks is the time from one look at the size of a recording to the next.
const betweenLooks = 100 * time.Millisecond

// size is how many bytes the recording has by now.
func (r *recorded) size() (bytes int64) {
	filepath.WalkDir(r.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil { // it is not there yet, or not any more
			return nil
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// until has the recording looked at, and again each time that it has grown, until that says that it is as it should be.
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
				r.t.Fatalf("the recording does not go on: %s", found)
			}
			time.Sleep(betweenLooks)
		}
		if time.Now().After(end) {
			r.t.Fatalf("the recording does not come to have it: %s", found)
		}
	}
}

// awaits waits until a command prints something about the recording, which also says that what it prints is not all.
func (r *recorded) awaits(what string, args ...string) {
	r.t.Helper()
	r.until(func() (bool, string) {
		out, _ := exec.Command(r.binary, append(args, "--from", r.dir)...).Output() // of what begins nothing is known
		return strings.Contains(string(out), what), fmt.Sprintf("no %s in %s", what, out)
	})
}

// proves waits until it is proven what was there at a time from now on. Of one at which the machine held up the recorder it
// never may be: after a while it takes another. Until then a ConfigMap is changed: that the watch has come to where the
// server was when it was asked shows by a change, or else by a bookmark, for which it may take a minute. Those of all contexts
// are of one cluster.
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

// slide moves the slider of the page to a value, an expression of s.
func (b *tab) slide(to string) {
	b.t.Helper()
	value[bool](b, `((s) => { s.value = `+to+`; s.dispatchEvent(new Event("input")); return true; })(document.querySelector("#past input"))`)
}

// The page shows a recording as it was at a time, which is in the address; a slider and buttons lead to others, and
// show when not all is known. The recording may go on meanwhile.
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
	// What was before the recording began is not known: that is on the slider, and said where it is shown.
	b.await(`!document.getElementById("past").hidden && document.querySelector("#past .gaps i") && document.querySelector("#past summary").textContent.includes("gap")`)
	value[bool](b, `document.querySelector("#past details li button").click() ?? true`)
	b.await(`document.getElementById("watch-state").textContent === "Not known" && !document.getElementById("down").hidden && !` + row("alpha"))
	// A link leads to a time, and its object says what there was then.
	const shown = `Number(new URLSearchParams(location.search).get("time"))`
	b.navigate(value[string](b, fmt.Sprintf(`location.origin + location.pathname + "?time=%d"`, then)))
	b.await(row("alpha"))
	if got := value[int64](b, shown); got != then {
		t.Errorf("a link to %d leads to %d", then, got)
	}
	value[bool](b, row("alpha")+`.click() ?? true`)
	b.await(`document.querySelector("#detail pre.yaml")?.textContent.includes("name: alpha") && !document.querySelector("#detail pre.yaml").textContent.includes("more: v")`)
	// The end is a later one as the recording goes on.
	objects(t, c, ns, "omega")
	r.awaits("omega", "cm/omega")
	value[bool](b, `[...document.querySelectorAll("#past button")].find((b) => b.textContent === "End").click() ?? true`)
	b.await(row("omega"))
	// To the begin, and on from there.
	b.slide("s.min")
	b.await(shown + ` < ` + fmt.Sprint(then-1000) + ` && !` + row("omega"))
	value[bool](b, `document.querySelector("#past .play").click() ?? true`)
	b.await(shown + ` > Number(document.querySelector("#past input").min) + 2000`)
	value[bool](b, `document.querySelector("#past .play").click() ?? true`)
	b.await(`document.querySelector("#past .play").textContent === "Play"`)
}

// A recording of several clusters: each object says where it was, and each cluster whether it is known what was there.
func TestPastClusters(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	fleet := fleetOf(t, ns, map[string]*cluster{"eu": c, "us": c})
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
