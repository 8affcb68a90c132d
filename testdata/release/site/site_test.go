package site

import (
	"encoding/json"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
)

// root is the root directory of dwatch.
const root = "../../.."

var directory string // of the built site

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	if directory, err = os.MkdirTemp("", "dwatch-site-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(directory)
	return m.Run()
}

var build = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("make", "-C", root, "site", "SITE="+directory).CombinedOutput()
})

// page is a rendered page.
type page struct {
	text  string // of the article
	ids   map[string]bool
	links []link
}

// link is a reference of a page to something else.
type link struct {
	element, attribute, address string
}

// pages builds the site once, and returns its pages by their paths.
func pages(t *testing.T) map[string]*page {
	t.Helper()
	if out, err := build(); err != nil {
		t.Fatalf("make site: %v\n%s", err, out)
	}
	all := map[string]*page{}
	err := fs.WalkDir(os.DirFS(directory), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		f, err := os.Open(filepath.Join(directory, name))
		if err != nil {
			return err
		}
		defer f.Close()
		document, err := html.Parse(f)
		all[name] = read(document)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// references are the attributes that name something to load or to go to.
var references = []string{"href", "src", "srcset", "poster", "data", "action", "formaction", "background"}

func read(document *html.Node) *page {
	p := &page{ids: map[string]bool{}}
	var text strings.Builder
	for n := range document.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" {
				p.ids[a.Val] = true
			}
			if slices.Contains(references, a.Key) {
				p.links = append(p.links, link{n.Data, a.Key, a.Val})
			}
		}
		if n.Type == html.ElementNode && n.Data == "article" {
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					text.WriteString(d.Data + "\n")
				}
			}
		}
	}
	p.text = text.String()
	return p
}

// sources returns the Markdown files of docs, relative to docs.
func sources(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root+"/docs"), ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 50 {
		t.Fatal(len(names), "pages in docs", err)
	}
	return names
}

// rendered returns the path of the page for a Markdown file of docs.
func rendered(source string) string {
	if source == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(source, ".md") + ".html"
}

// TestPages checks that each page of docs is in the site, and that each page of the site has it in its menu.
func TestPages(t *testing.T) {
	all := pages(t)
	for _, source := range sources(t) {
		target := rendered(source)
		p := all[target]
		if p == nil {
			t.Errorf("docs/%s is not in the site", source)
			continue
		}
		markdown, err := os.ReadFile(filepath.Join(root, "docs", source))
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(markdown), "# "), "\n")
		if !strings.HasPrefix(strings.TrimSpace(p.text), title) {
			t.Errorf("%s does not begin with its title %q", target, title)
		}
		for name, other := range all {
			if !slices.ContainsFunc(other.links, func(l link) bool { return l.element == "a" && path.Join(path.Dir(name), l.address) == target }) {
				t.Errorf("%s has no link to %s in its menu", name, target)
			}
		}
	}
}

// TestLinks checks that each relative link of each page leads to a file and an anchor of the site, and that pages load
// nothing from other hosts. Links to other hosts are fine, if somebody has to follow them.
func TestLinks(t *testing.T) {
	all := pages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, l := range all[name].links {
			if problem := check(all, name, l); problem != "" {
				t.Errorf("%s: <%s %s=%q>: %s", name, l.element, l.attribute, l.address, problem)
			}
		}
	}
	for _, name := range []string{"site.css", "site.js"} {
		text, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(text), "://") {
			t.Errorf("%s has the address of a host", name)
		}
	}
}

func check(all map[string]*page, name string, l link) (problem string) {
	u, err := url.Parse(l.address)
	switch {
	case err != nil:
		return err.Error()
	case l.address == "data:,": // no icon
		return ""
	case u.Scheme != "" || u.Host != "":
		if l.element != "a" || u.Scheme != "https" && u.Scheme != "http" {
			return "not a relative address"
		}
		return ""
	case l.address == "" || path.IsAbs(u.Path):
		return "not a relative address"
	}
	target := name
	if u.Path != "" {
		target = path.Join(path.Dir(name), u.Path)
	}
	if info, err := os.Stat(filepath.Join(directory, target)); err != nil {
		return err.Error()
	} else if info.IsDir() {
		return "a directory, which has no page when it is read from files"
	}
	if p := all[target]; u.Fragment != "" && (p == nil || !p.ids[u.Fragment]) {
		return "no such anchor"
	}
	return ""
}

// TestSearchIndex checks that the search index contains each word of each page, and that its entries lead to pages and
// sections that exist.
func TestSearchIndex(t *testing.T) {
	all := pages(t)
	script, err := os.ReadFile(filepath.Join(directory, "search-index.js"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct{ Address, Title, Heading, Text string }
	array := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(script)), "searchIndex("), ");")
	if err := json.Unmarshal([]byte(array), &entries); err != nil {
		t.Fatal(err)
	}
	indexed := map[string]string{}
	for _, e := range entries {
		if problem := check(all, "index.html", link{"a", "href", e.Address}); problem != "" {
			t.Errorf("%s: %s", e.Address, problem)
		}
		name, _, _ := strings.Cut(e.Address, "#")
		indexed[name] += e.Title + "\n" + e.Heading + "\n" + e.Text + "\n"
	}
	for name, p := range all {
		if missing := missingWords(p.text, indexed[name]); len(missing) > 0 {
			t.Errorf("the search index lacks words of %s: %q", name, missing)
		}
	}
}

var word = regexp.MustCompile(`[\pL\pN]{2,}`)

func missingWords(text, indexed string) (missing []string) {
	for _, w := range word.FindAllString(text, -1) {
		if !strings.Contains(indexed, w) && !slices.Contains(missing, w) {
			missing = append(missing, w)
		}
	}
	return missing
}
