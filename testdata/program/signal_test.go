//go:build unix

package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"dwatch/cli/fail"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fill creates n ConfigMaps of 1 KB and returns the last resourceVersion.
func (o *objects) fill(t *testing.T, n int) string {
	t.Helper()
	client := o.client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(o.namespace)
	var last string
	for i := range n {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": fmt.Sprintf("cm-%03d", i)},
			"data":     map[string]any{"padding": strings.Repeat("x", 1000)},
		}}
		u, err := client.Create(t.Context(), u, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = u.GetResourceVersion()
	}
	return last
}

// TestSignalWritesWhatWasReceived checks that after a signal dwatch still writes all events received before, although
// the pipe was full.
func TestSignalWritesWhatWasReceived(t *testing.T) {
	t.Parallel()
	const many = 100 // more than this pipe holds, and fewer than dwatch takes ahead of its reader
	o, _ := room(t)
	server, resumed, left := cutting(t, many)
	p := startPiped(t, "", "cm", "--server", server, "-n", o.namespace)
	p.says(t, "^no configmaps in namespace \\S+ yet$")
	narrow(t, p.write)
	last := o.fill(t, many)
	if got := receive(t, resumed); got != last {
		t.Fatalf("the watch resumed at %s, want %s", got, last)
	}
	awaitFull(t, p.write)
	p.signal(syscall.SIGTERM)
	receive(t, left)
	out := p.rest(t)
	p.ends(t, fail.ExitOK, "watching .*\nno configmaps .*\n")
	if got := namesIn(t, out); len(got) != many {
		t.Errorf("%d of %d objects were written", len(got), many)
	}
}

// cutting is a server that ends a watch after the given number of events. Once dwatch has received all of them, it
// resumes the watch: resumed receives the resourceVersion of that request, and left is closed when dwatch cancels it.
func cutting(t *testing.T, after int) (server string, resumed <-chan string, left <-chan struct{}) {
	t.Helper()
	from, done := make(chan string, 1), make(chan struct{})
	f := front{
		instead: func(w http.ResponseWriter, r *http.Request) bool {
			q := r.URL.Query()
			if q.Get("watch") == "" || q.Has("sendInitialEvents") {
				return false
			}
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			from <- q.Get("resourceVersion")
			<-r.Context().Done()
			close(done)
			return true
		},
		change: func(r *http.Response) error {
			if r.Request.URL.Query().Has("watch") {
				r.Body = &cut{ReadCloser: r.Body, after: after}
			}
			return nil
		},
	}
	return f.serve(t), from, done
}

// cut ends a watch cleanly after the given number of events.
type cut struct {
	io.ReadCloser
	after int
}

func (c *cut) Read(p []byte) (int, error) {
	if c.after <= 0 {
		return 0, io.EOF
	}
	n, err := c.ReadCloser.Read(p)
	c.after -= bytes.Count(p[:n], []byte("\n")) - bytes.Count(p[:n], []byte("BOOKMARK"))
	return n, err
}

// namesIn returns the names of the objects in a stream of complete events.
func namesIn(t *testing.T, stream []byte) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for decoder := json.NewDecoder(bytes.NewReader(stream)); ; {
		var e struct {
			Object metav1.PartialObjectMetadata
		}
		err := decoder.Decode(&e)
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names[e.Object.Name] = true
	}
}

// TestSignalTwice checks that dwatch waits for a blocked reader after the first signal, and not after the second.
func TestSignalTwice(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.fill(t, 500) // more than the pipe and the buffers of dwatch hold
	p := startPiped(t, kubeconfig, "cm")
	awaitFull(t, p.write)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for signals := 0; ; signals++ {
		select {
		case <-deadline:
			t.Fatalf("dwatch does not end after %d signals", signals)
		case <-p.ended:
			status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != syscall.SIGTERM || signals < 2 {
				t.Errorf("%v after %d signals", p.cmd.ProcessState, signals)
			}
			return
		case <-tick.C:
			p.signal(syscall.SIGTERM)
		}
	}
}

// narrow makes a pipe as small as possible, on Linux only.
func narrow(t *testing.T, write *os.File) {
	t.Helper()
	const setPipeSize = 1031 // F_SETPIPE_SZ
	if runtime.GOOS != "linux" {
		return
	}
	if _, err := unix.FcntlInt(write.Fd(), setPipeSize, os.Getpagesize()); err != nil {
		t.Fatal(err)
	}
}

// awaitFull polls until a write to a pipe would block. The system only notifies about the opposite.
func awaitFull(t *testing.T, write *os.File) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		fds := []unix.PollFd{{Fd: int32(write.Fd()), Events: unix.POLLOUT}}
		if n, err := unix.Poll(fds, 0); n == 0 && err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the pipe does not fill")
}

// TestSignalBurst checks that signals in quick succession count as one, since timeout(1) sends two: dwatch still ends
// gracefully.
func TestSignalBurst(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	write(t, o, "a=new")
	p := startPiped(t, kubeconfig, "send", "cm/a", "-n", o.namespace, "--drain", "10ms", "--to", "http://127.0.0.1:1")
	p.says(t, "^delivering to http://127.0.0.1:1: ")
	for since := time.Now(); time.Since(since) < 20*time.Millisecond; {
		p.signal(syscall.SIGTERM)
	}
	p.ends(t, fail.ExitFailed, "(?s:.*)\nerror: 1 event was not delivered to http://127.0.0.1:1\n")
}

// TestSignalBeforeAnAnswer checks that dwatch prints nothing more if a signal ends it before the server has answered.
func TestSignalBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http://", "https://"} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			t.Run(scheme+signal.String(), func(t *testing.T) {
				server, reached := mute(t)
				p := startPiped(t, "", "cm", "--server", scheme+server)
				receive(t, reached)
				p.signal(signal)
				p.ends(t, fail.ExitOK, "")
			})
		}
	}
	t.Run("watch", func(t *testing.T) {
		server, reached := unanswered(t)
		p := startPiped(t, "", "cm", "--server", server, "-n", "some")
		receive(t, reached)
		p.signal(os.Interrupt)
		p.ends(t, fail.ExitOK, "watching configmaps in namespace some\n")
	})
}

// TestSignalInList checks that an interrupted list fails, so that scripts notice that the List is missing.
func TestSignalInList(t *testing.T) {
	t.Parallel()
	interrupted := "error: interrupted before the output was complete: nothing was printed\n"
	t.Run("discovery", func(t *testing.T) {
		server, reached := mute(t)
		p := startPiped(t, "", "list", "cm", "--server", "http://"+server)
		receive(t, reached)
		p.signal(syscall.SIGTERM)
		p.ends(t, fail.ExitFailed, interrupted)
	})
	t.Run("objects", func(t *testing.T) {
		server, reached := unanswered(t)
		p := startPiped(t, "", "list", "cm,secrets", "--server", server, "-n", "some")
		receive(t, reached)
		p.signal(os.Interrupt)
		p.ends(t, fail.ExitFailed, interrupted)
		if out := p.rest(t); len(out) > 0 {
			t.Errorf("stdout: %s", out)
		}
	})
}

// unanswered starts a server that answers discovery, but no request for objects. reached receives a value for each such
// request.
func unanswered(t *testing.T) (server string, reached <-chan struct{}) {
	t.Helper()
	asked := make(chan struct{}, 100)
	f := front{instead: func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/namespaces/") {
			return false
		}
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	}}
	return f.serve(t), asked
}
