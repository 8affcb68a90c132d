package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dwatch/testdata/testenv"
)

const (
	maxMethods = 40
	maxFiles   = 6
)

// tooLarge are the types that may be larger than that, until they are smaller. It
// only gets shorter: a type that fits has to leave it.
var tooLarge []string

// size is how much there is to read of a type: how many methods it has, and in how
// many files. A method that each platform has for itself is one.
type size struct {
	methods, files map[string]bool
}

func (s size) String() string {
	return fmt.Sprintf("%d methods in %d files", len(s.methods), len(s.files))
}

func (s size) fits() bool {
	return len(s.methods) <= maxMethods && len(s.files) <= maxFiles
}

// TestSizes: a type can be read as a whole.
func TestSizes(t *testing.T) {
	found, err := sizesOfOurs()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Error("no type is found")
	}
	for _, complaint := range oversized(found, tooLarge) {
		t.Error(complaint)
	}
}

// oversized says which types are too large, and which exceptions are none.
func oversized(found map[string]size, exceptions []string) []string {
	var wrong []string
	for name, s := range found {
		if !s.fits() && !slices.Contains(exceptions, name) {
			wrong = append(wrong, fmt.Sprintf("%s has %s, of at most %d in %d: make several types of it", name, s, maxMethods, maxFiles))
		}
	}
	for _, name := range exceptions {
		if s := found[name]; s.fits() {
			wrong = append(wrong, fmt.Sprintf("%s has %s, so take it out of tooLarge in cli/sizes_test.go", name, s))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// TestOversized: what is just large enough is not found, one more method or file
// is, and an exception that is none any more is, too.
func TestOversized(t *testing.T) {
	of := func(methods, files int) size {
		s := size{map[string]bool{}, map[string]bool{}}
		for i := range methods {
			s.methods[fmt.Sprint(i)] = true
		}
		for i := range files {
			s.files[fmt.Sprint(i)] = true
		}
		return s
	}
	found := map[string]size{"p.fits": of(40, 6), "p.methods": of(41, 1), "p.files": of(7, 7), "p.known": of(41, 7)}
	got := oversized(found, []string{"p.known", "p.fits", "p.gone"})
	want := []string{
		"p.files has 7 methods in 7 files, of at most 40 in 6: make several types of it",
		"p.fits has 40 methods in 6 files, so take it out of tooLarge in cli/sizes_test.go",
		"p.gone has 0 methods in 0 files, so take it out of tooLarge in cli/sizes_test.go",
		"p.methods has 41 methods in 1 files, of at most 40 in 6: make several types of it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestMethodsOf: methods are counted by the type that has them, whatever its
// receiver looks like; functions are not.
func TestMethodsOf(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "a.go", `package p
func (t T) a() {}
func (*T) b() {}
func ((*T)) c() {}
func (g *G[K, _]) d() {}
func (g G1[K]) e() {}
func f(t T) {}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, m := range methodsOf(parsed) {
		got[m.of] = append(got[m.of], m.name)
	}
	want := map[string][]string{"T": {"a", "b", "c"}, "G": {"d"}, "G1": {"e"}}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v", got)
	}
}

// sizesOfOurs returns the size of each type of the module that has methods, by its
// package and name. Neither tests nor what is in testdata count.
func sizesOfOurs() (map[string]size, error) {
	root, err := testenv.ModuleRoot()
	if err != nil {
		return nil, err
	}
	found := map[string]size{}
	err = eachSource(root, func(file string) error {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		for _, m := range methodsOf(parsed) {
			name := filepath.ToSlash(folder) + "." + m.of
			if _, known := found[name]; !known {
				found[name] = size{map[string]bool{}, map[string]bool{}}
			}
			found[name].methods[m.name] = true
			found[name].files[filepath.Base(file)] = true
		}
		return nil
	})
	return found, err
}

// eachSource calls do with each Go file of the program, which is neither a test nor
// in a directory called testdata.
func eachSource(root string, do func(file string) error) error {
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (name == "testdata" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		return do(file)
	})
}

type method struct {
	of, name string
}

func methodsOf(file *ast.File) []method {
	var found []method
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			found = append(found, method{receiverName(f.Recv.List[0].Type), f.Name.Name})
		}
	}
	return found
}

// receiverName returns the name of the type that a receiver is of, without *, () and
// parameters.
func receiverName(receiver ast.Expr) string {
	switch r := receiver.(type) {
	case *ast.StarExpr:
		return receiverName(r.X)
	case *ast.ParenExpr:
		return receiverName(r.X)
	case *ast.IndexExpr:
		return receiverName(r.X)
	case *ast.IndexListExpr:
		return receiverName(r.X)
	case *ast.Ident:
		return r.Name
	}
	return ""
}
