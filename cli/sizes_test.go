package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dwatch/testdata/testenv"
)

// A type with more fields or methods than this is looked at by a reviewer. The numbers are no limits to pack against.
const (
	maxFields  = 15
	maxMethods = 40
)

// sizeReason matches the sentence in the comment of a large type that says why it is not split.
var sizeReason = regexp.MustCompile(`(^|\. )(Its fields are (independent|the) |It (is one type|embeds [^.]+) because )`)

// needsReason matches the reasons that a small type does not need.
var needsReason = regexp.MustCompile(`(^|\. )It is one type because `)

// typeSize is what a reader of a type has to know, including what it gets from embedded types of this module.
type typeSize struct{ fields, methods int }

func (s typeSize) isLarge() bool { return s.fields > maxFields || s.methods > maxMethods }

func (s typeSize) String() string {
	return fmt.Sprintf("%d fields and %d methods", s.fields, s.methods)
}

// TestSizes finds types that know too much.
func TestSizes(t *testing.T) {
	all, err := parseTypes()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Errorf("only %d types found", len(all))
	}
	for _, text := range sizeFindings(all) {
		t.Error(text)
	}
}

// sizeFindings lists the large types whose comment gives no reason, and the small types whose comment excuses a size.
func sizeFindings(all map[string]*typeInfo) (findings []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, comment := all[name].size(all), all[name].comment
		switch {
		case s.isLarge() && !sizeReason.MatchString(comment):
			findings = append(findings, fmt.Sprintf("%s has %s: split it along what changes together, or give the reason in its comment, in a sentence that matches %q",
				name, s, sizeReason))
		case !s.isLarge() && needsReason.MatchString(comment):
			findings = append(findings, fmt.Sprintf("%s has %s: remove the reason for its size from its comment", name, s))
		}
	}
	return findings
}

// TestSizeFindings checks the counts on types made for it.
func TestSizeFindings(t *testing.T) {
	all := map[string]*typeInfo{}
	large := "struct { Outer\n" + strings.Repeat("\t_ int\n", 12) + "}\n"
	source := "package p\n// Small is small. It is one type because why not.\ntype Small struct{ a, b int }\nfunc (s Small) M() {}\n"
	source += "type Outer struct { *Small; c int }\ntype Large " + large + "type Values struct { Large; Small }\n"
	source += "// Listed is a list. Its fields are the members\n// of a message.\ntype Listed struct { Large; Small }\n"
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	addTypes(all, "p", parsed)
	for name, want := range map[string]typeSize{"p.Small": {2, 1}, "p.Outer": {2, 1}, "p.Large": {14, 1}, "p.Values": {16, 2}, "p.Listed": {16, 2}} {
		if got := all[name].size(all); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	got := sizeFindings(all)
	want := []string{"p.Small has 2 fields and 1 methods: remove", "p.Values has 16 fields and 2 methods: split it"}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// typeInfo is a struct type as it is written.
type typeInfo struct {
	comment string // in one line
	fields  int
	methods map[string]bool
	// values and pointers are the full names of embedded types.
	values, pointers []string
}

// size adds what embedded types have. The fields behind an embedded pointer belong to an object of their own, and do not count.
func (i *typeInfo) size(all map[string]*typeInfo) typeSize {
	s := typeSize{i.fields, len(i.methods)}
	for _, name := range i.values {
		if e := all[name]; e != nil && e != i {
			more := e.size(all)
			s.fields, s.methods = s.fields+more.fields-1, s.methods+more.methods
		}
	}
	for _, name := range i.pointers {
		if e := all[name]; e != nil && e != i {
			s.methods += e.size(all).methods
		}
	}
	return s
}

// parseTypes returns all struct types of the module by package and name.
func parseTypes() (map[string]*typeInfo, error) {
	root, err := testenv.ModuleRoot()
	if err != nil {
		return nil, err
	}
	all := map[string]*typeInfo{}
	err = eachSource(root, func(file string) error {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err == nil {
			addTypes(all, filepath.ToSlash(folder), parsed)
		}
		return err
	})
	return all, err
}

// addTypes adds the struct types of a file, and the methods that it declares.
func addTypes(all map[string]*typeInfo, folder string, file *ast.File) {
	of := func(name string) *typeInfo {
		if all[name] == nil {
			all[name] = &typeInfo{methods: map[string]bool{}}
		}
		return all[name]
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				of(folder + "." + receiverName(d.Recv.List[0].Type)).methods[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, isType := spec.(*ast.TypeSpec)
				if !isType {
					continue
				}
				if s, isStruct := t.Type.(*ast.StructType); isStruct {
					info := of(folder + "." + t.Name.Name)
					info.add(folder, file, s)
					comment := t.Doc
					if comment == nil && !d.Lparen.IsValid() {
						comment = d.Doc
					}
					info.comment = strings.Join(strings.Fields(comment.Text()), " ")
				}
			}
		}
	}
}

// add counts the fields of a struct. An embedded type counts as one field.
func (i *typeInfo) add(folder string, file *ast.File, s *ast.StructType) {
	for _, f := range s.Fields.List {
		switch name := embeddedName(folder, file, f.Type); {
		case len(f.Names) > 0:
			i.fields += len(f.Names)
		case isPointer(f.Type):
			i.fields++
			i.pointers = append(i.pointers, name)
		default:
			i.fields++
			i.values = append(i.values, name)
		}
	}
}

func isPointer(t ast.Expr) bool {
	_, is := t.(*ast.StarExpr)
	return is
}

// embeddedName returns the package and name of a type of this module, or "".
func embeddedName(folder string, file *ast.File, t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return embeddedName(folder, file, t.X)
	case *ast.Ident:
		return folder + "." + t.Name
	case *ast.SelectorExpr:
		pkg, isIdent := t.X.(*ast.Ident)
		if !isIdent {
			return ""
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if inside, ours := strings.CutPrefix(path, module+"/"); err == nil && ours && filepath.Base(inside) == pkg.Name {
				return inside + "." + t.Sel.Name
			}
		}
	}
	return ""
}

// receiverName returns the name of the type of a receiver.
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

// eachSource calls do with each Go file of the program. Tests and directories named testdata are no part of it.
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
