package cluster

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

// client is a fake of client-go: it runs a plugin, makes the request, and after a 401 runs the plugin again, for one request
// at a time.
type client struct {
	next http.RoundTripper
	turn chan struct{} // holds one token
	run  func()        // the plugin
}

func (c *client) credentials() {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.run()
}

func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	c.credentials()
	answer, err := c.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		c.credentials()
	}
	return answer, err
}

// server answers with a code, and counts the answers that are closed.
type server struct {
	code   int
	closed *atomic.Int32
}

func (s server) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: s.code, Body: body{http.NoBody, s.closed}}, nil
}

type body struct {
	io.Reader
	closed *atomic.Int32
}

func (b body) Close() error {
	b.closed.Add(1)
	return nil
}

// bench is a plugin and its notes.
type bench struct {
	*plugin
	server server
	client *client
	notes  []string
}

func newBench(code int, run func()) *bench {
	b := &bench{server: server{code, new(atomic.Int32)}}
	config := &rest.Config{ExecProvider: &api.ExecConfig{Command: "/bin/login"}}
	b.plugin = newPlugin(config, func(line string) { b.notes = append(b.notes, line) })
	b.client = &client{next: afterPlugin{b.plugin, b.server}, turn: make(chan struct{}, 1), run: run}
	return b
}

func (b *bench) ask(t *testing.T, limit time.Duration) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return withPlugin{b.plugin, b.client}.RoundTrip(get(t, ctx, "GET"))
}

// A request ends with its context while the plugin hangs, and a later request does not wait for the plugin. Late responses are
// closed.
func TestPluginThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		b := newBench(http.StatusOK, func() { <-released })
		for range 3 {
			if _, err := b.ask(t, time.Minute); err != context.DeadlineExceeded {
				t.Error(err)
			}
		}
		synctest.Wait()
		want := "waiting for the credential plugin login of the user in the kubeconfig; Ctrl-C ends dwatch"
		if len(b.notes) != 1 || b.notes[0] != want {
			t.Errorf("%q", b.notes)
		}
		close(released)
		synctest.Wait()
		if n := b.server.closed.Load(); n != 3 {
			t.Errorf("%d answers are closed, want 3", n)
		}
		if answer, err := b.ask(t, time.Minute); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", answer, err)
		}
	})
}

// A slow server is not reported as a slow plugin.
func TestPluginThatIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(http.StatusOK, func() {})
		b.client.next = afterPlugin{b.plugin, slow{b.server}}
		if _, err := b.ask(t, time.Hour); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(b.notes) > 0 {
			t.Errorf("%q", b.notes)
		}
	})
}

type slow struct{ next http.RoundTripper }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Minute)
	return s.next.RoundTrip(r)
}

// After a 401 the plugin runs again, and that may hang, too.
func TestPluginThatHangsAfterUnauthorized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		runs := 0
		b := newBench(http.StatusUnauthorized, func() {
			if runs++; runs == 2 {
				<-released
			}
		})
		for range 2 {
			if _, err := b.ask(t, time.Minute); err != context.DeadlineExceeded {
				t.Error(err)
			}
		}
		synctest.Wait()
		if len(b.notes) != 1 {
			t.Errorf("%q", b.notes)
		}
		close(released)
		synctest.Wait()
		if n := b.server.closed.Load(); n != 2 {
			t.Errorf("%d answers are closed, want 2", n)
		}
	})
}

// A plugin that always prompts is not interrupted by a note.
func TestPluginThatAsks(t *testing.T) {
	for mode, want := range map[api.ExecInteractiveMode]bool{
		api.AlwaysExecInteractiveMode: false, api.IfAvailableExecInteractiveMode: true, api.NeverExecInteractiveMode: true,
	} {
		said := false
		config := &rest.Config{ExecProvider: &api.ExecConfig{Command: "login", InteractiveMode: mode}}
		newPlugin(config, func(string) { said = true }).note()
		if said != want {
			t.Errorf("%s: said %v, want %v", mode, said, want)
		}
	}
}
