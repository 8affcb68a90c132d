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

var recordFor = flag.Duration("record", 5*time.Second, "how long TestRecord writes")

// TestRecord records while ConfigMaps come, change and go, the API server is killed and comes back,
// and the recorder is killed, and for a longer run its disk is full once, it is suspended, and nothing happens
// for seconds.
// There is one writer, so that its writes in their order are the truth. ServiceAccounts are recorded,
// too, of which there are none.
// Then for random times the recording says what was there after one of the writes, none of which
// had not begun yet, or that it is not known; and from one time to another it has each write in
// turn, none twice, or says that some may be missing.
func TestRecord(t *testing.T) {
	t.Parallel()
	w := &recordWitness{T: t, dir: t.TempDir(), port: freePort(t), random: rand.New(rand.NewPCG(5, 6)), there: map[string]string{}}
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

// recordWitness has a server of its own, and what was written to it.
type recordWitness struct {
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
	// All that happened between them is known, whatever comes later, and however busy the machine is.
	calmFrom, calmTo time.Time
}

// written is a write that the server has taken, when it began and ended, and what was there after it.
type written struct {
	text  string // as a line of the recording comes to
	began time.Time
	ended time.Time
	after string
}

func (w *recordWitness) kubeconfig() string { return filepath.Join(w.dir, "kubeconfig") }

func (w *recordWitness) serve() {
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

func (w *recordWitness) restart() {
	w.cluster.Kill()
	w.serve()
}

func (w *recordWitness) record() {
	w.start(`exec "$@"`)
	w.write(w.random.IntN(10))
	w.await()
}

// start starts the recorder by what a shell is told.
func (w *recordWitness) start(script string) {
	w.recorder = exec.Command("sh", "-c", script, "sh", filepath.Join(binaries, "dwatch"), "record", filepath.Join(w.dir, "rec"), "cm,sa", "-n", "default", "--max-size", "100Mi")
	w.recorder.Env, w.recorder.Stderr = append(os.Environ(), "KUBECONFIG="+w.kubeconfig()), &w.stderr
	if err := w.recorder.Start(); err != nil {
		w.Fatal(err)
	}
}

// fillDisk has the recorder go on with so little room that it ends, while writes go on, and then as before.
func (w *recordWitness) fillDisk() {
	w.quit()
	w.start("ulimit -f 100; exec \"$@\"") // at least 50 KB in each file
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

func (w *recordWitness) kill() {
	w.recorder.Process.Kill()
	w.recorder.Wait() // it was killed
}

func (w *recordWitness) quit() {
	w.recorder.Process.Signal(os.Interrupt)
	if err := w.recorder.Wait(); err != nil {
		w.Fatalf("%v: %s", err, w.stderr.String())
	}
}

// wander writes now and then for some time of a longer run.
func (w *recordWitness) wander() {
	if *recordFor <= time.Minute {
		return
	}
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); {
		w.write(w.random.IntN(8))
		time.Sleep(time.Duration(w.random.IntN(1+w.random.IntN(10000))) * time.Millisecond) // what is tested is that this time passes
	}
}

// suspend stops the recorder for longer than it may be silent, while writes go on.
func (w *recordWitness) suspend() {
	w.recorder.Process.Signal(syscall.SIGSTOP)
	for range 25 {
		w.write(3)
		time.Sleep(time.Second) // what is tested is that this time passes
	}
	w.recorder.Process.Signal(syscall.SIGCONT)
}

// write changes n objects, one after the other.
func (w *recordWitness) write(n int) {
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

func (w *recordWitness) state() string {
	var all []string
	for name, value := range w.there {
		all = append(all, name+" "+value)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// ask asks the recording, of which no cluster is needed, and returns its lines and how it ended.
func (w *recordWitness) ask(args ...string) (lines []string, complete bool) {
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
	known := strings.Contains(stderr.String(), "complete ")
	if known != (err == nil) {
		w.Errorf("%v: %v, and %s", args, err, stderr.String())
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines, err == nil
}

const recordedObjects = `-o=jsonpath={range .items[*]}{.metadata.name} {.data.n}{"\n"}{end}`

// await waits until the recording has all that was written.
func (w *recordWitness) await() {
	deadline := time.Now().Add(patience)
	for {
		lines, _ := w.ask("list", "cm", recordedObjects)
		mine := slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "o") })
		if slices.Sort(mine); strings.Join(mine, ",") == w.state() {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("it has %v, want %s\n%s", mine, w.state(), w.stderr.String())
		}
	}
}

// beCalm writes, and lets nothing be in the way, until all of some time is known. A server that has just begun may end a
// watch by itself: then it is another time.
func (w *recordWitness) beCalm() {
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
			w.Fatalf("from %s to %s not all is known\n%s", w.calmFrom, w.calmTo, w.stderr.String())
		}
	}
}

// span asks for what happened between two times.
func (w *recordWitness) span(what string, from, to time.Time) []string {
	return []string{what, "--since", from.Format(time.RFC3339Nano), "--before", to.Format(time.RFC3339Nano)}
}

// between returns a random time of the run.
func (w *recordWitness) between() time.Time {
	first, last := w.writes[0].began, w.writes[len(w.writes)-1].began
	return first.Add(time.Duration(w.random.Int64N(int64(last.Sub(first))))).Truncate(time.Millisecond)
}

func (w *recordWitness) checkTimes() {
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
			w.Errorf("at %s there was %q, which was after no write", at, got)
		}
	}
	w.Logf("%d writes; of %d times %d are not known:\n%s", len(w.writes), times, unknown, w.gaps())
	if unknown == times {
		w.Error("nothing is known")
	}
}

// gaps is what the recording says that it does not know.
func (w *recordWitness) gaps() string {
	cmd := exec.Command(filepath.Join(binaries, "dwatch"), "cm", "-o", "name", "--from", filepath.Join(w.dir, "rec"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	_ = cmd.Run() // its exit code says that there are some
	return stderr.String()
}

// seenWithin is how long after a write it may be seen on a machine that is busy.
const seenWithin = 10 * time.Second

// was reports whether that was there at a time: after a write that had begun by then, and before one
// that had not ended long before.
func (w *recordWitness) was(state string, at time.Time) bool {
	for i, one := range w.writes {
		isNext := i+1 < len(w.writes)
		if one.after == state && !one.began.After(at.Add(time.Millisecond)) && (!isNext || w.writes[i+1].ended.Add(seenWithin).After(at)) {
			return true
		}
	}
	return false
}

func (w *recordWitness) checkSpans() {
	complete := 0
	for n := range 40 {
		from, to := w.between(), w.between()
		if from.After(to) {
			from, to = to, from
		}
		if w.random.IntN(2) == 0 {
			to = from.Add(to.Sub(from) / 10) // most others have a gap in them
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

func (w *recordWitness) linesOf(lines []string) (got []string) {
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

// checkWhole checks that all writes of a span that is complete are there.
func (w *recordWitness) checkWhole(got []string, from, to time.Time) {
	for _, one := range w.writes {
		if !one.began.Before(from) && one.ended.Add(seenWithin).Before(to) && !slices.Contains(got, one.text) {
			w.Errorf("from %s to %s it is complete, and %s at %s is missing", from, to, one.text, one.ended)
		}
	}
}

// checkOrder checks that what was recorded are writes in turn: all of them if that is said.
func (w *recordWitness) checkOrder(got []string, all bool) {
	if len(got) == 0 || !all {
		seen := map[string]bool{}
		for _, l := range got {
			if foundOut := strings.HasSuffix(l, " "); seen[l] && !foundOut {
				w.Errorf("%s is there twice", l)
			}
			seen[l] = true
		}
		return
	}
	at := slices.IndexFunc(w.writes, func(one written) bool { return one.text == got[0] })
	for i, l := range got {
		if at < 0 || at+i >= len(w.writes) || w.writes[at+i].text != l {
			w.Errorf("complete, and not what was written: %v", got)
			return
		}
	}
}
