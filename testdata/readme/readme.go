// Package readme reads README.md and the pages in docs, for tests that compare them with the program.
package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/testdata/testenv"
)

// Path returns the path of a file whose name is relative to the module root.
func Path(t *testing.T, name string) string {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, name)
}

// Read returns the content of a file whose name is relative to the module root.
func Read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// PageNames returns the names of README.md and of the pages in docs and its subdirectories.
func PageNames(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	root := Path(t, "")
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" {
			return err
		}
		page, err := filepath.Rel(root, file)
		pages = append(pages, filepath.ToSlash(page))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// CheckOrUpdate fails the test if old, a passage of the page, differs from fresh. If UPDATE_README is set, it replaces
// the passage instead.
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
