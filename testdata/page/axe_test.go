package page

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeVersion is the npm package of axe-core.
const axeVersion = "axe-core@4.14.1"

// axe returns the script of axe-core, which finds accessibility problems of a page.
var axe = sync.OnceValues(func() (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is not installed")
	}
	cmd := exec.Command(npm, "pack", "--silent", axeVersion)
	cmd.Dir = temporary
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("npm pack %s: %w\n%s", axeVersion, err, out)
	}
	names, err := filepath.Glob(filepath.Join(temporary, "axe-core-*.tgz"))
	if err != nil || len(names) != 1 {
		return "", fmt.Errorf("npm pack made %v: %w", names, err)
	}
	return extract(names[0], "package/axe.min.js")
})

// extract returns a file of a .tgz.
func extract(path, name string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if err != nil {
			return "", fmt.Errorf("%s in %s: %w", name, path, err)
		}
		if header.Name == name {
			content, err := io.ReadAll(archive)
			return string(content), err
		}
	}
}

// violation is a problem that axe has found.
type violation struct {
	ID     string   `json:"id"`
	Impact string   `json:"impact"`
	Help   string   `json:"help"`
	Nodes  []string `json:"nodes"`
}

// checkAccess checks the page with axe while it is live. Serious and critical violations are errors. On a busy machine
// the page may lose its connection, which makes it pale.
func (b *tab) checkAccess(what string) {
	b.t.Helper()
	b.checkAccessWhile(what, live)
}

// checkAccessWhile is like checkAccess while the expression state holds.
func (b *tab) checkAccessWhile(what, state string) {
	b.t.Helper()
	script, err := axe()
	if err != nil {
		b.t.Logf("%s: not checked for accessibility: %v", what, err)
		return
	}
	if !value[bool](b, `"axe" in window`) {
		b.do(chromedp.Evaluate[chromedp.Void](script + "; undefined"))
	}
	for {
		b.await(state)
		found := b.violations()
		if !value[bool](b, state) {
			continue
		}
		for _, v := range found {
			report := b.t.Errorf
			if v.Impact != "serious" && v.Impact != "critical" {
				report = b.t.Logf
			}
			report("%s: %s (%s): %s\n%s", what, v.ID, v.Impact, v.Help, strings.Join(v.Nodes, "\n"))
		}
		return
	}
}

func (b *tab) violations() []violation {
	b.t.Helper()
	return value[[]violation](b, `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) =>
    ({ id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + " " + n.failureSummary) })))`)
}

// TestAccess checks that axe finds no serious accessibility problem on the page.
func TestAccess(t *testing.T) {
	c, ns := setUp(t)
	if _, err := axe(); err != nil {
		t.Skipf("axe-core is needed for the accessibility check: %v", err)
	}
	objects(t, c, ns, "alpha", "beta")
	d := serve(t, c, "cm,deploy,rs,po", "-n", ns)
	b := open(t, d.url, look{still: true})
	b.awaitLive()
	c.patch(t, ns, "beta", `{"data":{"level":"debug"}}`)
	b.await(entry("info → debug"))
	for _, l := range []look{{}, {dark: true}, {width: 360, height: 740}, {width: 360, height: 740, dark: true}, {width: 3840, height: 2160}} {
		l.still = true
		name := fmt.Sprintf("%dx%d dark=%v", l.width, l.height, l.dark)
		b.look(l)
		for key, view := range map[string]string{"1": "table", "2": "timeline", "3": "feed"} {
			b.press(key)
			b.await(fmt.Sprintf("document.body.dataset.view === %q", view))
			b.checkAccess(name + " " + view)
		}
		b.press("1")
		value[bool](b, row("slow")+`.click() ?? true`)
		b.await(`document.querySelector("#detail .yaml")`)
		b.checkAccess(name + " with an object")
		b.press("\x1b?")
		b.await(`document.getElementById("keys").open`)
		b.checkAccess(name + " help")
		b.press("\x1b")
	}
}
