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

// client is a fake of client-go. It runs a plugin, makes the request, and runs the plugin again after a 401. Only one
// request can run the plugin at a time.
type client struct {
	next http.RoundTripper
	turn chan struct{} // a semaphore for the plugin
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

// server answers with a status code and counts how many responses were closed.
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

// pluginTest is a plugin with a fake client, and the notes to the user.
type pluginTest struct {
	*plugin
	server server
	client *client
	notes  []string
}

func newPluginTest(code int, run func()) *pluginTest {
	b := &pluginTest{server: server{code, new(atomic.Int32)}}
	config := &rest.Config{ExecProvider: &api.ExecConfig{Command: "/bin/login"}}
	b.plugin = newPlugin(config, func(line string) { b.notes = append(b.notes, line) })
	b.client = &client{next: afterPlugin{b.plugin, b.server}, turn: make(chan struct{}, 1), run: run}
	return b
}

func (b *pluginTest) ask(t *testing.T, limit time.Duration) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return withPlugin{b.plugin, b.client}.RoundTrip(get(t, ctx, "GET"))
}

// TestPluginThatHangs checks that a request ends with its context while the plugin hangs, that later requests are not
// blocked, and that late responses are closed.
func TestPluginThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		b := newPluginTest(http.StatusOK, func() { <-released })
		for range 3 {
			if _, err := b.ask(t, time.Minute); err != context.DeadlineExceeded {
				t.Errorf("got error %v, want a deadline", err)
			}
		}
		synctest.Wait()
		want := "waiting for the credential plugin login of the user in the kubeconfig; Ctrl-C ends dwatch"
		if len(b.notes) != 1 || b.notes[0] != want {
			t.Errorf("got notes %q", b.notes)
		}
		close(released)
		synctest.Wait()
		if n := b.server.closed.Load(); n != 3 {
			t.Errorf("%d responses were closed, want 3", n)
		}
		if answer, err := b.ask(t, time.Minute); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("got %v, %v, want 200", answer, err)
		}
	})
}

// TestPluginThatIsQuick checks that a slow server is not reported as a slow plugin.
func TestPluginThatIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPluginTest(http.StatusOK, func() {})
		b.client.next = afterPlugin{b.plugin, slow{b.server}}
		if _, err := b.ask(t, time.Hour); err != nil {
			t.Errorf("got error %v, want a response", err)
		}
		synctest.Wait()
		if len(b.notes) > 0 {
			t.Errorf("got notes %q", b.notes)
		}
	})
}

type slow struct{ next http.RoundTripper }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Minute)
	return s.next.RoundTrip(r)
}

// TestPluginThatHangsAfterUnauthorized checks the same for the second run of the plugin after a 401.
func TestPluginThatHangsAfterUnauthorized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		runs := 0
		b := newPluginTest(http.StatusUnauthorized, func() {
			if runs++; runs == 2 {
				<-released
			}
		})
		for range 2 {
			if _, err := b.ask(t, time.Minute); err != context.DeadlineExceeded {
				t.Errorf("got error %v, want a deadline", err)
			}
		}
		synctest.Wait()
		if len(b.notes) != 1 {
			t.Errorf("got notes %q", b.notes)
		}
		close(released)
		synctest.Wait()
		if n := b.server.closed.Load(); n != 2 {
			t.Errorf("%d responses were closed, want 2", n)
		}
	})
}

// TestPluginThatAsks checks that there is no note for a plugin that always prompts.
func TestPluginThatAsks(t *testing.T) {
	for mode, want := range map[api.ExecInteractiveMode]bool{
		api.AlwaysExecInteractiveMode: false, api.IfAvailableExecInteractiveMode: true, api.NeverExecInteractiveMode: true,
	} {
		noted := false
		config := &rest.Config{ExecProvider: &api.ExecConfig{Command: "login", InteractiveMode: mode}}
		newPlugin(config, func(string) { noted = true }).note()
		if noted != want {
			t.Errorf("%s: note is %v, want %v", mode, noted, want)
		}
	}
}
