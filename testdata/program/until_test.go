//go:build unix

package program

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/cli/fail"
)

// TestUntilOnceAmongMany checks a condition that only one of 10,000 events satisfies.
func TestUntilOnceAmongMany(t *testing.T) {
	t.Parallel()
	const writers, each = 20, 500
	o, kubeconfig := room(t)
	client := configMapsOf(o)
	for i := range writers {
		if _, err := client.Create(t.Context(), newConfigMap(fmt.Sprintf("cm-%02d", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p := startPiped(t, kubeconfig, "cm", "-l", "!none", "--until", "object.data.n == '7-250'", "--fail-if", "object.data.n == '7-499' || object.data.n == '7-260'", "--until-for", "any", "-o", "none")
	p.says(t, "^watching ")
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for n := range each {
				patch := fmt.Appendf(nil, `{"data":{"n":"%d-%d"}}`, i, n)
				if _, err := client.Patch(t.Context(), fmt.Sprintf("cm-%02d", i), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	p.ends(t, fail.ExitOK, "watching .*\n(connection lost.*\n|reconnected\n|waiting for .*\n)*cm/cm-07: --until .* holds after .*\n")
}

// gaps is a proxy that can close its watches, and reject resumed ones as too old.
type gaps struct {
	closing, forgets atomic.Bool
	watches          chan context.CancelFunc
}

func newGaps(t *testing.T) (g *gaps, server string) {
	g = &gaps{watches: make(chan context.CancelFunc, 100)}
	f := front{instead: func(w http.ResponseWriter, r *http.Request) bool {
		q := r.URL.Query()
		switch {
		case g.closing.Load():
			panic(http.ErrAbortHandler)
		case !q.Has("watch"):
			return false
		case g.forgets.Load() && !q.Has("sendInitialEvents"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}`)
			return true
		}
		ctx, cancel := context.WithCancel(r.Context())
		*r = *r.WithContext(ctx)
		g.watches <- cancel
		return false
	}}
	return g, f.serve(t)
}

// TestUntilInTheGap checks conditions on changes that happen while the connection is lost.
func TestUntilInTheGap(t *testing.T) {
	t.Parallel()
	const done = "type != 'DELETED' && object.data.k == 'done'"
	for _, test := range []struct {
		name    string
		args    []string
		forgets bool
		before  string // words for write
		gap     string
		undone  bool   // dwatch must not end after gap
		after   string // words for write that end dwatch then
		code    int
		said    string
	}{
		{"a state that passes", []string{"cm/a", "--until", done}, false, "a=new", "a=done a=new", false, "", fail.ExitOK, "cm/a: "},
		{"the last state", []string{"cm/a", "--until", done}, true, "a=new", "a=done", false, "", fail.ExitOK, "cm/a: "},
		{"deleted", []string{"cm/a", "--until", "deleted"}, true, "a=new", "-a", false, "", fail.ExitOK, "cm/a: "},
		{"deleted and created again", []string{"cm/a", "--until", "deleted"}, true, "a=new", "-a a=new", false, "", fail.ExitOK, "cm/a: "},
		{"created again, and done", []string{"cm/a", "--until", done}, true, "a=new", "-a a=done", false, "", fail.ExitOK, "cm/a: "},
		{"failed", []string{"cm", "--until", done, "--fail-if", "object.data.k == 'bad'"}, true, "a=new b=new", "a=bad b=done", false, "", fail.ExitFailIf, "error: --fail-if .*: cm/a$"},
		{"never at the same time", []string{"cm", "-l", "!x", "--until", done}, true, "a=new b=done", "a=done b=new", true, "b=done", fail.ExitOK, "2 objects: "},
		{"one comes", []string{"cm", "-l", "!x", "--until", done}, true, "a=new", "a=done b=new", true, "-b", fail.ExitOK, "cm/a: "},
		{"each", []string{"cm", "-l", "!x", "--until", done, "--until-for", "each"}, true, "a=new b=new", "a=done b=new", true, "a=new b=done", fail.ExitOK, "2 objects: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, _ := room(t)
			g, server := newGaps(t)
			write(t, o, test.before)
			p := startPiped(t, "", append(test.args, "--server", server, "-n", o.namespace, "--marks", "--timeout", patience.String())...)
			cut := receive(t, g.watches)
			p.reads(t, `"type":"SYNCED"`)
			g.closing.Store(true)
			cut()
			p.says(t, "^connection lost")
			write(t, o, test.gap)
			g.forgets.Store(test.forgets)
			g.closing.Store(false)
			if test.undone {
				p.says(t, "^reconnected")
				select {
				case <-p.ended:
					t.Fatalf("dwatch ended: %s", p.stderr.String())
				default:
				}
				write(t, o, test.after)
			}
			p.waits(t)
			if code := p.cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d", code)
			}
			p.says(t, "^"+test.said)
		})
	}
}

// reads reads stdout up to a line that contains text.
func (p *piped) reads(t *testing.T, text string) {
	t.Helper()
	p.read.SetReadDeadline(time.Now().Add(patience))
	if p.lines == nil {
		p.lines = bufio.NewReader(p.read)
	}
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v\nstderr:\n%s", err, p.stderr.String())
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// write writes ConfigMaps: name=value sets a value, -name deletes.
func write(t *testing.T, o *objects, words string) {
	t.Helper()
	client := configMapsOf(o)
	for _, word := range strings.Fields(words) {
		name, value, _ := strings.Cut(word, "=")
		var err error
		if strings.HasPrefix(name, "-") {
			err = client.Delete(t.Context(), name[1:], metav1.DeleteOptions{})
		} else {
			u := newConfigMap(name)
			u.Object["data"] = map[string]any{"k": value}
			_, err = client.Apply(t.Context(), name, u, metav1.ApplyOptions{FieldManager: "test"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUntilUnanswered checks that an end before the server has answered is a failure.
func TestUntilUnanswered(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, args ...string) *piped {
		server, reached := mute(t)
		p := startPiped(t, "", append([]string{"cm/a", "--until", "ready", "--server", "http://" + server}, args...)...)
		receive(t, reached)
		return p
	}
	t.Run("timeout", func(t *testing.T) {
		p := start(t, "--timeout", "1s")
		p.ends(t, fail.ExitTimeout, "error: --timeout 1s passed, and --until ready does not hold: the server had not answered\n")
	})
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			p := start(t)
			p.signal(signal)
			p.ends(t, fail.ExitFailed, "error: interrupted before --until ready held: the server had not answered\n")
		})
	}
	t.Run("reader", func(t *testing.T) {
		p := start(t)
		p.read.Close()
		p.ends(t, fail.ExitFailed, "error: the reader closed the pipe before --until ready held: the server had not answered\n")
	})
	t.Run("watch", func(t *testing.T) {
		server, reached := unanswered(t)
		p := startPiped(t, "", "cm/a", "--until", "ready", "--server", server, "-n", "some", "--timeout", "3s")
		receive(t, reached)
		p.ends(t, fail.ExitTimeout, "watching .*\nerror: cm/a not ready after 3s: not listed yet\n")
	})
}

// TestUntilConnectionLost checks that the final error reports a lost connection.
func TestUntilConnectionLost(t *testing.T) {
	t.Parallel()
	o, _ := room(t)
	write(t, o, "a=new")
	g, server := newGaps(t)
	p := startPiped(t, "", "cm/a", "--server", server, "-n", o.namespace, "--until", "false", "-o", "name")
	cut := receive(t, g.watches)
	p.reads(t, "configmap/a")
	g.closing.Store(true)
	cut()
	p.says(t, "^connection lost")
	p.signal(syscall.SIGTERM)
	p.ends(t, fail.ExitFailed, "watching .*\n(waiting for .*\n)?connection lost.*\n(waiting for .*\n)?error: interrupted before --until false held: cm/a: connection lost: .*\n")
}

// TestUntilInterruptedTwice checks that after a second signal dwatch does not wait for the lookup of reasons that the
// first one started.
func TestUntilInterruptedTwice(t *testing.T) {
	t.Parallel()
	o, _ := room(t)
	err := o.applyOne(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "a", "namespace": o.namespace},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 10)
	f := front{instead: func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			return false
		}
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	}}
	server := f.serve(t)
	start := func() *piped {
		p := startPiped(t, "", "po/a", "--server", server, "-n", o.namespace, "--until", "false", "-o", "name")
		p.reads(t, "pod/a")
		p.signal(os.Interrupt)
		receive(t, asked)
		return p
	}
	start().ends(t, fail.ExitFailed, "watching .*\n(waiting for po/a .*\n)?error: interrupted before --until false held: po/a InProgress: Pod is in the Pending phase\n")
	// On a busy machine the lookup may time out before the second signal counts.
	for deadline := time.Now().Add(patience); ; {
		p := start()
		p.interruptedAgain(t)
		status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if status.Signaled() && status.Signal() == syscall.SIGINT {
			return
		}
		if status.ExitStatus() != fail.ExitFailed || time.Now().After(deadline) {
			t.Fatalf("%v", p.cmd.ProcessState)
		}
	}
}

// interruptedAgain sends signals until the process ends. A signal soon after the first one counts as the same.
func (p *piped) interruptedAgain(t *testing.T) {
	t.Helper()
	again, patient := time.NewTicker(50*time.Millisecond), time.After(patience)
	defer again.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-again.C:
			p.signal(os.Interrupt)
		case <-patient:
			t.Fatalf("dwatch does not end\nstderr:\n%s", p.stderr.String())
		}
	}
}
