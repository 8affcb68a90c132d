package site

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is the time limit of each test. The machine may be busy.
const patience = 3 * time.Minute

// tab is a tab of a browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// open starts a browser for the test, which fails if a page requests anything but files of the site. Without a browser the
// test is skipped. CHROMIUM is the path of a browser that is not in PATH.
func open(t *testing.T) *tab {
	t.Helper()
	var browser string
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); name != "" && err == nil {
			browser = found
			break
		}
	}
	if browser == "" {
		t.Skip("no Chromium in PATH")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(
		chromedp.ExecPath(browser), chromedp.NoSandbox, // tests may run as root in a container
		chromedp.WSURLReadTimeout(patience)))
	t.Cleanup(cancel)

	var mu sync.Mutex
	var elsewhere []string
	err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, address("")) && e.Request.URL != "data:," {
			mu.Lock()
			defer mu.Unlock()
			elsewhere = append(elsewhere, e.Request.URL)
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if len(elsewhere) > 0 {
			t.Errorf("requested: %q", elsewhere)
		}
	})
	return &tab{t, ctx}
}

// address returns the address of a file of the site, without a server.
func address(name string) string { return "file://" + filepath.ToSlash(directory) + "/" + name }

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true, also on the page that a link leads to.
func (b *tab) await(expression string) {
	b.t.Helper()
	for {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(patience)))
		if err == nil {
			return
		}
		if b.ctx.Err() != nil || !strings.Contains(err.Error(), "context") { // the page's JavaScript context ends with the page
			b.t.Fatalf("waited for %s: %v", expression, err)
		}
	}
}

// TestSearch searches from the index and from a page in a directory, and follows the first result with the keyboard. The
// pages are read from files, as after unpacking an archive.
func TestSearch(t *testing.T) {
	pages(t)
	b := open(t)
	for _, from := range []string{"index.html", "reference/flags.html"} {
		for _, search := range []struct{ text, first string }{
			{"exit codes", "reference/exit-codes.html"},
			{"dead letters", "reference/receivers.html#dead-letters"},
			{"WEBHOOK how", "tasks/send-to-a-webhook.html"},
		} {
			b.do(chromedp.Navigate(address(from)))
			value[bool](b, `document.dispatchEvent(new KeyboardEvent('keydown', {key: '/'}))`) // focuses the search field
			b.do(chromedp.KeyEvent(search.text))
			b.await(`document.querySelector('#results li a mark') !== null`)
			if first := value[string](b, `document.querySelector('#results a').href`); first != address(search.first) {
				t.Errorf("%s: %q finds %s first, not %s", from, search.text, first, search.first)
			}
			b.do(chromedp.KeyEvent(kb.Enter))
			b.await(fmt.Sprintf("location.href === %q", address(search.first)))
		}
	}
	b.do(chromedp.Navigate(address("index.html")), chromedp.SendKeys(".search input", "qwertyuiop"))
	b.await(`document.querySelector('#results p').textContent === 'Nothing found'`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.await(`document.querySelector('#results').hidden && document.querySelector('.search input').value === ''`)
}

// TestWidths checks that no page is wider than the window: wide tables and code scroll by themselves.
func TestWidths(t *testing.T) {
	all := pages(t)
	b := open(t)
	for _, width := range []int64{390, 1280} {
		b.do(chromedp.EmulateViewport(width, 900))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			b.do(chromedp.Navigate(address(name)))
			if is := value[int64](b, "document.documentElement.scrollWidth"); is > width {
				t.Errorf("%s is %d pixels wide in a window of %d", name, is, width)
			}
		}
	}
}
