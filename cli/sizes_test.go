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

// configuration is a reason in acceptedSizes.
const configuration = "values of a configuration, which one struct lists best"

// unreviewed are directories whose types are not reviewed yet.
var unreviewed = []string{"output", "watcher"}

// acceptedSizes are the larger types, and why they are as they are.
var acceptedSizes = map[string]string{
	"cli.diffOptions":                 configuration,
	"cli.topOptions":                  configuration,
	"cli.liveOptions":                 configuration,
	"cli.sendOptions":                 configuration,
	"cli.streamOptions":               configuration,
	"cli/destination.Receiver":        configuration,
	"cli/destination.ReceiverOptions": configuration,
	"cli/flags.Delivery":              configuration,
	"cli/report.Reporter":             "its options, and what it reported last",
	"cli/run.Layout":                  configuration,
	"cli/run.Requirements":            configuration,
	"cli/run.Run":                     "a run is what it was made of and what its stages leave for each other; Do reads from top to bottom",
	"cli/run.clusters":                "the state that all clusters share under one mutex",
	"cli/run.member":                  "one cluster: the connection, what its goroutine knows, and what others read",
	"cli/run.pipeline":                "it has the methods of a run, and one more for each stage",
	"cli/supervisor.Supervisor":       "the configuration of the file, and what runs",
	"cli/supervisor.activeRule":       "a rule from its preparation to its end, in one place",
}

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
	for _, text := range sizeFindings(all, acceptedSizes) {
		t.Error(text)
	}
}

// sizeFindings says which types are large and not accepted, and which are accepted and not large.
func sizeFindings(all map[string]*typeInfo, accepted map[string]string) (findings []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if isUnreviewed(name) {
			continue
		}
		s := all[name].size(all)
		switch _, is := accepted[name]; {
		case s.isLarge() && !is:
			findings = append(findings, fmt.Sprintf("%s has %s: split it along what changes together, or give a reason in acceptedSizes", name, s))
		case !s.isLarge() && is:
			findings = append(findings, fmt.Sprintf("%s has %s: remove it from acceptedSizes", name, s))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(accepted)) {
		if all[name] == nil {
			findings = append(findings, name+" does not exist: remove it from acceptedSizes")
		}
	}
	return findings
}

func isUnreviewed(name string) bool {
	return slices.ContainsFunc(unreviewed, func(dir string) bool { return strings.HasPrefix(name, dir+".") || strings.HasPrefix(name, dir+"/") })
}

// TestSizeFindings checks the counts on types made for it.
func TestSizeFindings(t *testing.T) {
	all := map[string]*typeInfo{}
	source := "package p\ntype Small struct{ a, b int }\nfunc (s Small) M() {}\ntype Outer struct { *Small; c int }\n"
	source += "type Large struct { Outer\n" + strings.Repeat("\t_ int\n", 12) + "}\ntype Values struct { Large; Small }\n"
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	addTypes(all, "p", parsed)
	for name, want := range map[string]typeSize{"p.Small": {2, 1}, "p.Outer": {2, 1}, "p.Large": {14, 1}, "p.Values": {16, 2}} {
		if got := all[name].size(all); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	got := sizeFindings(all, map[string]string{"p.Small": "why not", "p.Gone": "it was large"})
	for i, want := range []string{"p.Small has 2 fields and 1 methods: remove it", "p.Values has 16 fields", "p.Gone does not exist"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// typeInfo is a struct type as it is written.
type typeInfo struct {
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
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
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
					of(folder+"."+t.Name.Name).add(folder, file, s)
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
