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

// needBrowser skips a test that has none.
func needBrowser(t *testing.T) {
	t.Helper()
	if browserPath == "" {
		t.Skip("no browser is installed: the tests of the page need chromium-headless-shell, chromium or Chrome (apt-get install chromium-headless-shell), or CHROMIUM=PATH")
	}
}

// tab is a tab of a browser, with cookies of its own.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// look is how a page is looked at. The zero value is a light desktop of 1280x800.
type look struct {
	width, height int64
	scale         float64
	dark          bool
	still         bool // reduced motion
}

// open opens an address in a tab that ends with the test. The browser is everybody's.
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

// openApart opens it in a browser of its own, for what is done to all of a browser.
func openApart(t *testing.T, address string, l look) *tab {
	t.Helper()
	needBrowser(t)
	ctx, cancel := newBrowser()
	t.Cleanup(cancel)
	return opened(t, ctx, address, l)
}

func newBrowser() (context.Context, context.CancelFunc) {
	return chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(browserPath), chromedp.NoSandbox, // it runs as root in a container
		chromedp.WSURLReadTimeout(patience)))
}

// sharedBrowser starts the browser of most tests: a start costs more than what many of them do.
var sharedBrowser = sync.OnceValues(func() (context.Context, error) {
	ctx, cancel := newBrowser()
	endBrowser = cancel
	return ctx, chromedp.Do(ctx)
})

// endBrowser ends what sharedBrowser started.
var endBrowser = func() {}

func opened(t *testing.T, ctx context.Context, address string, l look) *tab {
	t.Helper()
	b := &tab{t: t, ctx: ctx}
	b.look(l)
	// To itself, each tab is the one that is looked at.
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

// watchConsole makes an error of any exception in the page, and of what its policy
// (Content-Security-Policy) refused.
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

// await waits until an expression holds.
func (b *tab) await(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void](fmt.Sprintf("Boolean(%s)", expression),
		chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(50*time.Millisecond)))
	if err != nil {
		b.t.Fatalf("waited %v for %s: %v\nthe page says:\n%s", patience, expression, err, b.text("body"))
	}
}

// awaitWithin waits until an expression holds, and reports an error if that took longer
// than limit. How long the machine was busy with other things does not count: a timer of
// the page that comes late tells. It returns how long it took.
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
    else reject(new Error("it does not come to that"));
  }, every);
})`, expression, patience.Milliseconds()))
	took, late := time.Duration(ms[0])*time.Millisecond, time.Duration(ms[1])*time.Millisecond
	if took-late > limit {
		b.t.Errorf("it took %v (the page was kept waiting for %v of that) instead of %v until %s", took, late, limit, expression)
	}
	return took
}

// notice makes the page note what an expression is as soon as that is not false, though it
// be only for a moment: who looks from outside may come too late on a busy machine.
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

// noticed waits until that is, and returns what the expression was.
func noticed[T any](b *tab, name string) T {
	b.t.Helper()
	b.await(fmt.Sprintf("window.noticed[%q]", name))
	return value[T](b, fmt.Sprintf("window.noticed[%q]", name))
}

// live: the page is connected.
const live = `document.body.dataset.watch === "live"`

// awaitLive waits until the page is connected and has everything.
func (b *tab) awaitLive() {
	b.t.Helper()
	b.await(live + ` && document.querySelector(".row.object")`)
}

// shot is a picture of what is seen, in the directory that DWATCH_PICTURES names, to be looked at.
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

// text is the text of the first element of a selector, as it is seen.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return value[string](b, fmt.Sprintf(`(document.querySelector(%s)?.innerText ?? "(not there)")`, quote(selector)))
}

// press presses keys, as a keyboard does: what the page does at a key goes before what the
// key would write. (chromedp's KeyEvent writes in any case.)
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

// address is the part of the address after the path.
func (b *tab) address() string { return value[string](b, "location.search") }

// quote is a text as a literal of JavaScript.
func quote(text string) string { return encode(text) }

// row is an expression for the row of an object by its name.
func row(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#list .row.object:not([hidden])")].find((r) => r.querySelector("b").textContent === %s)`, quote(name))
}

// entry is an expression for the last line of the feed with that text.
func entry(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#lines .entry:not([hidden])")].findLast((e) => e.textContent.includes(%s))`, quote(text))
}
