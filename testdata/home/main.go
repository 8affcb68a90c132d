// Command home renames the module: it writes a new module path to go.mod, to the imports of all Go files and to
// the pages that say how to get it. It changes tracked files below the working directory. make home runs it and commits
// the result.
//
//	home example.com/you/dwatch
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "home:", err)
		os.Exit(1)
	}
}

// modulePath is a path that Go can fetch: its first element has a dot.
var modulePath = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)+$`)

func run(args []string) error {
	if len(args) != 1 || !modulePath.MatchString(args[0]) {
		return fmt.Errorf("%q is no module path, such as example.com/you/dwatch", args)
	}
	old, err := output("go", "list", "-m")
	if err != nil {
		return err
	}
	m := move{from: strings.TrimSpace(old), to: args[0]}
	if m.from == m.to {
		return errors.New("that is its path already")
	}
	files, err := output("git", "ls-files", "-z")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.TrimRight(files, "\x00"), "\x00") {
		if err := m.rewrite(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// move replaces one module path by another.
type move struct{ from, to string }

// rewrite changes a file if it contains the module path.
func (m move) rewrite(name string) error {
	var change func([]byte) ([]byte, error)
	switch {
	case strings.HasSuffix(name, ".go"):
		change = m.imports
	case path.Base(name) == "go.mod":
		change = m.goMod
	case name == "README.md":
		change = m.readme
	case name == "docs/tasks/use-as-a-go-library.md":
		change = m.libraryPage
	default:
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	changed, err := change(text)
	if err != nil || bytes.Equal(text, changed) {
		return err
	}
	return os.WriteFile(name, changed, 0o644) // an existing file keeps its permissions
}

// path returns the new import path of a package. Packages of other modules keep theirs.
func (m move) path(p string) string {
	if p == m.from || strings.HasPrefix(p, m.from+"/") {
		return m.to + strings.TrimPrefix(p, m.from)
	}
	return p
}

// imports rewrites the import paths in Go source. Other strings that look like one stay.
func (m move) imports(text []byte) ([]byte, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	done := 0
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		b.Write(text[done:set.Position(spec.Path.Pos()).Offset])
		b.WriteString(strconv.Quote(m.path(name)))
		done = set.Position(spec.Path.End()).Offset
	}
	b.Write(text[done:])
	return b.Bytes(), nil
}

// goMod rewrites the module path in all directives of a go.mod.
func (m move) goMod(text []byte) ([]byte, error) {
	word := regexp.MustCompile(`(?m)(^|[ \t])` + regexp.QuoteMeta(m.from) + `(/\S*)?([ \t]|$)`)
	return word.ReplaceAll(text, []byte("${1}"+m.to+"${2}${3}")), nil
}

var noHome = regexp.MustCompile(`(?s)<!-- no home -->\n.*?<!-- /no home -->\n`)

// readme replaces the installation instructions for a module that go install can fetch.
func (m move) readme(text []byte) ([]byte, error) {
	text = noHome.ReplaceAll(text, fmt.Appendf(nil, "Releases are at <https://%s/releases>. With Go, `go install %[1]s@latest` is enough.\n", m.to))
	return bytes.ReplaceAll(text, []byte("<https://dwatch.invalid>"), fmt.Appendf(nil, "<https://%s>", m.to)), nil
}

// libraryPage replaces the set-up of a program that imports the module, and the import paths in the program.
func (m move) libraryPage(text []byte) ([]byte, error) {
	text = noHome.ReplaceAll(text, fmt.Appendf(nil, "In the directory of your program:\n\n```sh\ngo mod init example.com/settings\ngo get %s@latest\n```\n", m.to))
	return bytes.ReplaceAll(text, []byte(m.from+"/watcher"), []byte(m.to+"/watcher")), nil
}
