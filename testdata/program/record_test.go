//go:build unix

package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"dwatch/testdata/testenv"
)

var recordFor = flag.Duration("record", 5*time.Second, "for how long TestRecord writes")

// TestRecord records while ConfigMaps are created, changed and deleted, while the API server is killed and restarted, and while
// the recorder is killed. With a -record of more than a minute, the recorder also runs out of space, is suspended, and there are
// pauses of seconds. A single writer makes the order of the writes unambiguous. The recorder also records ServiceAccounts, of
// which none exist.
//
// Then the test queries random times. The recording either returns the objects after a write that had begun by then, or reports
// that it does not know. Between two times it returns the writes in order, none of them twice, or reports that some may be
// missing.
func TestRecord(t *testing.T) {
	t.Parallel()
	w := &recordRun{T: t, dir: t.TempDir(), port: freePort(t), random: rand.New(rand.NewPCG(5, 6)), there: map[string]string{}}
	w.serve()
	defer func() { w.cluster.Kill() }()
	began := time.Now()
	w.record()
	w.beCalm()
	if *recordFor > time.Minute {
		w.fillDisk()
	}
	for round := 0; time.Since(began) < *recordFor || round < 4; round++ {
		w.write(30)
		w.wander()
		switch round % 4 {
		case 1:
			w.kill()
			w.write(w.random.IntN(20))
			w.record()
		case 2:
			if *recordFor > time.Minute {
				w.suspend()
			}
		case 3:
			w.restart()
		}
		w.write(10)
	}
	w.await()
	w.quit()
	w.checkTimes()
	w.checkSpans()
}

// recordRun has an API server, a recorder, and the writes to the server.
type recordRun struct {
	*testing.T
	cluster  *testenv.Cluster
	client   dynamic.ResourceInterface
	dir      string
	port     int
	random   *rand.Rand
	recorder *exec.Cmd
	stderr   bytes.Buffer
	writes   []written
	there    map[string]string
	// The recording covers the time between these two completely, regardless of later failures and of the load.
	calmFrom, calmTo time.Time
}

// written is a successful write to the server.
type written struct {
	text  string // "TYPE NAME VALUE", the form that linesOf returns
	began time.Time
	ended time.Time
	after string // all objects after the write, as state returns them
}

func (w *recordRun) kubeconfig() string { return filepath.Join(w.dir, "kubeconfig") }

func (w *recordRun) serve() {
	var err error
	if w.cluster, err = testenv.StartCluster("--data", filepath.Join(w.dir, "data"), "--port", fmt.Sprint(w.port)); err != nil {
		w.Fatal(err)
	}
	copyFile(w.T, w.cluster.Kubeconfig, w.kubeconfig())
	config, err := w.cluster.Config("admin")
	if err != nil {
		w.Fatal(err)
	}
	w.client = dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace("default")
}

func (w *recordRun) restart() {
	w.cluster.Kill()
	w.serve()
}

func (w *recordRun) record() {
	w.start(`exec "$@"`)
	w.write(w.random.IntN(10))
	w.await()
}

// start starts the recorder through a shell script.
func (w *recordRun) start(script string) {
	w.recorder = exec.Command("sh", "-c", script, "sh", filepath.Join(binaries, "dwatch"), "record", filepath.Join(w.dir, "rec"), "cm,sa", "-n", "default", "--max-size", "100Mi")
	w.recorder.Env, w.recorder.Stderr = append(os.Environ(), "KUBECONFIG="+w.kubeconfig()), &w.stderr
	if err := w.recorder.Start(); err != nil {
		w.Fatal(err)
	}
}

// fillDisk restarts the recorder with a small limit on file sizes, under which it fails while writes continue, and then
// restarts it without.
func (w *recordRun) fillDisk() {
	w.quit()
	w.start("ulimit -f 100; exec \"$@\"") // 50 or 100 KB per file, depending on the shell
	w.write(10)
	large := newConfigMap("large")
	noise := make([]byte, 200_000)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(noise)
	large.Object["data"] = map[string]any{"noise": base64.StdEncoding.EncodeToString(noise)}
	if _, err := w.client.Create(context.Background(), large, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.recorder.Wait() }()
	for running := true; running; {
		w.write(1)
		select {
		case err := <-ended:
			running = false
			if code := w.recorder.ProcessState.ExitCode(); code != 1 || !strings.Contains(w.stderr.String(), "error: record into ") {
				w.Fatalf("%v, exit code %d: %s", err, code, w.stderr.String())
			}
		default:
		}
	}
	w.write(w.random.IntN(10))
	w.record()
}

func (w *recordRun) kill() {
	w.recorder.Process.Kill()
	w.recorder.Wait() // the error says that it was killed
}

func (w *recordRun) quit() {
	w.recorder.Process.Signal(os.Interrupt)
	if err := w.recorder.Wait(); err != nil {
		w.Fatalf("%v: %s", err, w.stderr.String())
	}
}

// wander writes at irregular intervals, if the run is longer than a minute.
func (w *recordRun) wander() {
	if *recordFor <= time.Minute {
		return
	}
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); {
		w.write(w.random.IntN(8))
		time.Sleep(time.Duration(w.random.IntN(1+w.random.IntN(10000))) * time.Millisecond) // the elapsed time is part of the test
	}
}

// suspend suspends the recorder for 25 seconds while writes continue.
func (w *recordRun) suspend() {
	w.recorder.Process.Signal(syscall.SIGSTOP)
	for range 25 {
		w.write(3)
		time.Sleep(time.Second) // the elapsed time is part of the test
	}
	w.recorder.Process.Signal(syscall.SIGCONT)
}

// write changes n objects, one after the other.
func (w *recordRun) write(n int) {
	for range n {
		name := fmt.Sprintf("o%d", w.random.IntN(12))
		value := fmt.Sprint(len(w.writes))
		began, text, err := time.Now(), "", error(nil)
		known, exists := w.there[name]
		switch {
		case !exists:
			cm := newConfigMap(name)
			cm.Object["data"] = map[string]any{"n": value}
			_, err = w.client.Create(context.Background(), cm, metav1.CreateOptions{})
			text, w.there[name] = "ADDED "+name+" "+value, value
		case w.random.IntN(4) == 0:
			err = w.client.Delete(context.Background(), name, metav1.DeleteOptions{})
			text = "DELETED " + name + " " + known
			delete(w.there, name)
		default:
			_, err = w.client.Patch(context.Background(), name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":%q}}`, value), metav1.PatchOptions{})
			text, w.there[name] = "MODIFIED "+name+" "+value, value
		}
		if err != nil && !apierrors.IsNotFound(err) {
			w.Fatal(err)
		}
		w.writes = append(w.writes, written{text, began, time.Now(), w.state()})
	}
}

func (w *recordRun) state() string {
	var all []string
	for name, value := range w.there {
		all = append(all, name+" "+value)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// ask runs dwatch --from on the recording, without a cluster. It returns the printed lines, and whether dwatch considers
// them complete.
func (w *recordRun) ask(args ...string) (lines []string, complete bool) {
	cmd := exec.Command(filepath.Join(binaries, "dwatch"), append(args, "--from", filepath.Join(w.dir, "rec"))...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=/nowhere")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 4 {
		if code != 2 || !strings.Contains(stderr.String(), "it contains no recording") && !strings.Contains(stderr.String(), "it has nothing yet") && !strings.Contains(stderr.String(), "no such file") {
			w.Fatalf("%v: %v: %s", args, err, stderr.String())
		}
	}
	known := strings.Contains(strings.ReplaceAll(stderr.String(), "incomplete", ""), "complete ")
	if known != (err == nil) {
		w.Errorf("%v: %v, and %s", args, err, stderr.String())
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines, err == nil
}

const recordedObjects = `-o=jsonpath={range .items[*]}{.metadata.name} {.data.n}{"\n"}{end}`

// await waits until the recording contains all writes.
func (w *recordRun) await() {
	deadline := time.Now().Add(patience)
	for {
		lines, _ := w.ask("list", "cm", recordedObjects)
		mine := slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "o") })
		if slices.Sort(mine); strings.Join(mine, ",") == w.state() {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("the recording has %v, want %s\n%s", mine, w.state(), w.stderr.String())
		}
	}
}

// beCalm writes without any failures until the recording covers a time span completely. A server that has just started
// may end a watch by itself, so beCalm tries until that succeeds.
func (w *recordRun) beCalm() {
	for deadline := time.Now().Add(patience); ; {
		w.calmFrom = time.Now().Truncate(time.Millisecond)
		w.write(3)
		w.calmTo = w.writes[len(w.writes)-1].began.Truncate(time.Millisecond)
		for range 20 {
			if _, complete := w.ask(w.span("cm", w.calmFrom, w.calmTo)...); complete {
				return
			}
			w.write(1)
		}
		if time.Now().After(deadline) {
			w.Fatalf("the recording is incomplete from %s to %s\n%s", w.calmFrom, w.calmTo, w.stderr.String())
		}
	}
}

// span returns the arguments of a query for the events between two times.
func (w *recordRun) span(what string, from, to time.Time) []string {
	return []string{what, "--since", from.Format(time.RFC3339Nano), "--before", to.Format(time.RFC3339Nano)}
}

// between returns a random time of the run.
func (w *recordRun) between() time.Time {
	first, last := w.writes[0].began, w.writes[len(w.writes)-1].began
	return first.Add(time.Duration(w.random.Int64N(int64(last.Sub(first))))).Truncate(time.Millisecond)
}

func (w *recordRun) checkTimes() {
	unknown := 0
	times := 60
	if *recordFor > time.Minute {
		times = 200
	}
	for n := range times {
		at := w.between()
		if n == 0 {
			at = w.calmTo
		}
		lines, complete := w.ask("list", []string{"cm", "cm,sa"}[n%2], recordedObjects, "--at", at.Format(time.RFC3339Nano))
		if !complete {
			unknown++
			continue
		}
		mine := slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "o") })
		slices.Sort(mine)
		got := strings.Join(mine, ",")
		if !w.was(got, at) {
			w.Errorf("at %s the recording has %q, which is the state after no matching write", at, got)
		}
	}
	w.Logf("%d writes; %d times, %d of them unknown:\n%s", len(w.writes), times, unknown, w.gaps())
	if unknown == times {
		w.Error("the recording covers none of the times")
	}
}

// gaps returns the gaps that dwatch reports for the recording.
func (w *recordRun) gaps() string {
	cmd := exec.Command(filepath.Join(binaries, "dwatch"), "cm", "-o", "name", "--from", filepath.Join(w.dir, "rec"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	_ = cmd.Run() // it fails if there are gaps
	return stderr.String()
}

// seenWithin is the maximum delay of an event after its write, on a busy machine.
const seenWithin = 10 * time.Second

// was reports whether the objects may have been in a state at a time: after a write that had begun by then, and before
// the next one had ended for longer than seenWithin.
func (w *recordRun) was(state string, at time.Time) bool {
	for i, one := range w.writes {
		isNext := i+1 < len(w.writes)
		if one.after == state && !one.began.After(at.Add(time.Millisecond)) && (!isNext || w.writes[i+1].ended.Add(seenWithin).After(at)) {
			return true
		}
	}
	return false
}

func (w *recordRun) checkSpans() {
	complete := 0
	for n := range 40 {
		from, to := w.between(), w.between()
		if from.After(to) {
			from, to = to, from
		}
		if w.random.IntN(2) == 0 {
			to = from.Add(to.Sub(from) / 10) // most longer spans contain a gap
		}
		if n == 0 {
			from, to = w.calmFrom, w.calmTo
		}
		if !from.Before(to) {
			continue
		}
		lines, all := w.ask(w.span("cm", from, to)...)
		got := w.linesOf(lines)
		if all {
			complete++
		}
		w.checkOrder(got, all)
		if all {
			w.checkWhole(got, from, to)
		}
	}
	w.Logf("%d spans are complete", complete)
	if complete == 0 {
		w.Error("no span is complete")
	}
}

func (w *recordRun) linesOf(lines []string) (got []string) {
	for _, l := range lines {
		var e struct {
			Type   string
			Object struct {
				Metadata metav1.ObjectMeta
				Data     map[string]string
			}
		}
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			w.Fatal(err)
		}
		if strings.HasPrefix(e.Object.Metadata.Name, "o") {
			got = append(got, e.Type+" "+e.Object.Metadata.Name+" "+e.Object.Data["n"])
		}
	}
	return got
}

// checkWhole checks that a complete span contains all its writes.
func (w *recordRun) checkWhole(got []string, from, to time.Time) {
	for _, one := range w.writes {
		if !one.began.Before(from) && one.ended.Add(seenWithin).Before(to) && !slices.Contains(got, one.text) {
			w.Errorf("from %s to %s the recording is complete, but %s at %s is missing", from, to, one.text, one.ended)
		}
	}
}

// checkOrder checks that the recorded events are writes in order, without omissions if all is true.
func (w *recordRun) checkOrder(got []string, all bool) {
	if len(got) == 0 || !all {
		seen := map[string]bool{}
		for _, l := range got {
			if foundOut := strings.HasSuffix(l, " "); seen[l] && !foundOut {
				w.Errorf("%s was recorded twice", l)
			}
			seen[l] = true
		}
		return
	}
	at := slices.IndexFunc(w.writes, func(one written) bool { return one.text == got[0] })
	for i, l := range got {
		if at < 0 || at+i >= len(w.writes) || w.writes[at+i].text != l {
			w.Errorf("the span is complete, but differs from the writes: %v", got)
			return
		}
	}
}
