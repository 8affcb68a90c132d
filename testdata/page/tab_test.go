package page

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// needBrowser skips a test if there is no browser.
func needBrowser(t *testing.T) {
	t.Helper()
	if browserPath == "" {
		t.Skip("no browser is installed: the tests of the page need chromium-headless-shell, chromium or Chrome (apt-get install chromium-headless-shell), or CHROMIUM=PATH")
	}
}

// tab is a tab of a browser, with its own cookies.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// look is the appearance of a page. The zero value is a light desktop of 1280x800.
type look struct {
	width, height int64
	scale         float64
	dark          bool
	still         bool // reduced motion
}

// open opens an address in a tab of the shared browser. The tab ends with the test.
func open(t *testing.T, address string, l look) *tab {
	t.Helper()
	needBrowser(t)
	browser, err := sharedBrowser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return opened(t, ctx, address, l)
}

// openApart opens an address in a new browser, for tests that affect the whole browser.
func openApart(t *testing.T, address string, l look) *tab {
	t.Helper()
	needBrowser(t)
	ctx, cancel := newBrowser()
	t.Cleanup(cancel)
	return opened(t, ctx, address, l)
}

func newBrowser() (context.Context, context.CancelFunc) {
	return chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(browserPath), chromedp.NoSandbox, // tests may run as root in a container
		chromedp.WSURLReadTimeout(patience)))
}

// sharedBrowser starts the browser of most tests, once, because a start costs more than many of them.
var sharedBrowser = sync.OnceValues(func() (context.Context, error) {
	ctx, cancel := newBrowser()
	endBrowser = cancel
	return ctx, chromedp.Do(ctx)
})

// endBrowser ends the browser of sharedBrowser.
var endBrowser = func() {}

func opened(t *testing.T, ctx context.Context, address string, l look) *tab {
	t.Helper()
	b := &tab{t: t, ctx: ctx}
	b.look(l)
	// Each tab behaves as if it had the focus.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.watchConsole()
	b.navigate(address)
	return b
}

// look changes size, colours and motion.
func (b *tab) look(l look) {
	b.t.Helper()
	if l.width == 0 {
		l.width, l.height = 1280, 800
	}
	scheme, motion := "light", "no-preference"
	if l.dark {
		scheme = "dark"
	}
	if l.still {
		motion = "reduce"
	}
	b.do(chromedp.EmulateViewport(l.width, l.height, chromedp.EmulateScale(max(l.scale, 1))))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: motion},
	}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// watchConsole makes the test fail on exceptions in the page, and on violations of its Content-Security-Policy.
func (b *tab) watchConsole() {
	messages := chromedp.Console(b.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range messages {
			if err != nil {
				return
			}
			text := m.String()
			if m.IsException() || strings.Contains(text, "Content Security Policy") || strings.Contains(text, "Error:") {
				b.t.Errorf("in the page: %s", text)
			}
		}
	}()
	b.t.Cleanup(func() {
		chromedp.Cancel(b.ctx)
		<-done
	})
}

func (b *tab) navigate(address string) { b.t.Helper(); b.do(chromedp.Navigate(address)) }

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value evaluates an expression, which may be a promise.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true.
func (b *tab) await(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void](fmt.Sprintf("Boolean(%s)", expression),
		chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(50*time.Millisecond)))
	if err != nil {
		b.t.Fatalf("waited %v for %s: %v\nthe page says:\n%s", patience, expression, err, b.text("body"))
	}
}

// awaitWithin waits until an expression is true, and reports an error if that took longer than limit. It subtracts the
// time for which the machine was busy, which it measures by late timers of the page. It returns how long it took.
func (b *tab) awaitWithin(expression string, limit time.Duration) time.Duration {
	b.t.Helper()
	ms := value[[]float64](b, fmt.Sprintf(`new Promise((resolve, reject) => {
  const every = 50, begun = performance.now();
  let last = begun, late = 0;
  const timer = setInterval(() => {
    const now = performance.now(), holds = Boolean(%s);
    if (now - last > 2 * every) late += now - last - every;
    last = now;
    if (!holds && now - begun < %d) return;
    clearInterval(timer);
    if (holds) resolve([now - begun, late]);
    else reject(new Error("timeout"));
  }, every);
})`, expression, patience.Milliseconds()))
	took, late := time.Duration(ms[0])*time.Millisecond, time.Duration(ms[1])*time.Millisecond
	if took-late > limit {
		b.t.Errorf("it took %v (of which the machine was busy for %v) instead of %v until %s", took, late, limit, expression)
	}
	return took
}

// notice makes the page store the value of an expression as soon as it is true, even if only for a moment. On a busy
// machine, polling may miss that.
func (b *tab) notice(name, expression string) {
	b.t.Helper()
	value[bool](b, fmt.Sprintf(`(() => {
  (window.noticed ??= {})[%[1]q] = null;
  new MutationObserver((_, observer) => {
    const value = %[2]s;
    if (!value) return;
    window.noticed[%[1]q] = value;
    observer.disconnect();
  }).observe(document.documentElement, { subtree: true, childList: true, attributes: true, characterData: true });
  return true;
})()`, name, expression))
}

// noticed waits for that value and returns it.
func noticed[T any](b *tab, name string) T {
	b.t.Helper()
	b.await(fmt.Sprintf("window.noticed[%q]", name))
	return value[T](b, fmt.Sprintf("window.noticed[%q]", name))
}

// live is true while the page is connected.
const live = `document.body.dataset.watch === "live"`

// awaitLive waits until the page is connected and has objects.
func (b *tab) awaitLive() {
	b.t.Helper()
	b.await(live + ` && document.querySelector(".row.object")`)
}

// shot writes a screenshot to the directory DWATCH_PICTURES, if that is set.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("DWATCH_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// text returns the visible text of the first element of a selector.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return value[string](b, fmt.Sprintf(`(document.querySelector(%s)?.innerText ?? "(not there)")`, quote(selector)))
}

// press presses keys like a keyboard: the page's handler runs before the key writes text. (chromedp's KeyEvent always
// writes.)
func (b *tab) press(keys string) {
	b.t.Helper()
	for _, r := range keys {
		var text string
		for _, k := range kb.Encode(r) {
			if k.Type == kb.KeyChar {
				text = k.Text
			}
		}
		for _, k := range kb.Encode(r) {
			switch k.Type {
			case kb.KeyChar:
				continue
			case input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeRawKeyDown:
				if text != "" {
					k.Type, k.Text = input.DispatchKeyEventTypeKeyDown, text
				}
			}
			if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, *k); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// address returns the query of the address.
func (b *tab) address() string { return value[string](b, "location.search") }

// quote returns a text as a JavaScript literal.
func quote(text string) string { return encode(text) }

// row returns an expression for the row of an object by name.
func row(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#list .row.object:not([hidden])")].find((r) => r.querySelector("b").textContent === %s)`, quote(name))
}

// entry returns an expression for the last line of the feed that contains text.
func entry(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#lines .entry:not([hidden])")].findLast((e) => e.textContent.includes(%s))`, quote(text))
}
