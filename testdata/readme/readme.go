// Package readme is README.md and other pages, for the tests that hold them to what
// dwatch does.
package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/testdata/testenv"
)

// Path returns the path of a file that is named from the top of the module.
func Path(t *testing.T, name string) string {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, name)
}

// Read returns the text of a file that is named from the top of the module.
func Read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Pages returns the names of README.md and of the pages in docs.
func PageNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(Path(t, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := []string{"README.md"}
	for _, file := range files {
		pages = append(pages, "docs/"+filepath.Base(file))
	}
	return pages
}

// Update checks that what stands in a page is what it should be, or with UPDATE_README
// replaces it.
func CheckOrUpdate(t *testing.T, page, old, fresh string) {
	t.Helper()
	if diff := cmp.Diff(old, fresh); diff == "" {
		return
	} else if os.Getenv("UPDATE_README") == "" {
		t.Errorf("%s is not what dwatch does; make readme updates it (-page +dwatch):\n%s", page, diff)
		return
	}
	text := strings.Replace(Read(t, page), old, fresh, 1)
	if err := os.WriteFile(Path(t, page), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
