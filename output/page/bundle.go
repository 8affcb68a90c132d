package page

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"path"
	"regexp"
	"strings"
)

// bundle joins the JavaScript modules of the page into one script, for an exported file: browsers refuse to load modules
// from files. Each module becomes a function, which runs after the modules that it imports.
type bundle struct {
	text strings.Builder
	done map[string][]string // names that a module exports, by module
	open []string            // modules that add is processing, to detect import cycles
}

var (
	// importLine and exportWord match the only supported forms of import and export. otherWord matches all others, and
	// text that would end the script element.
	importLine = regexp.MustCompile(`(?m)^import (?:\{ ([^}]+) \}|\* as (\w+)) from "\./([a-z]+\.js)";$`)
	exportWord = regexp.MustCompile(`(?m)^export ((?:async )?(?:function\*?|class|const) (\w+))`)
	otherWord  = regexp.MustCompile(`(?m)^(?:import|export)\b.*$|(?i)</script|<!--`)
)

// bundled returns the modules of the page as one script.
func bundled() (string, error) {
	b := &bundle{done: map[string][]string{}}
	b.text.WriteString("(() => {\n\"use strict\";\nconst modules = {};\n")
	if err := b.add("app.js"); err != nil {
		return "", err
	}
	b.text.WriteString("})();\n")
	return b.text.String(), nil
}

// add appends a module after its imports. It does nothing if the module was added before.
func (b *bundle) add(name string) error {
	if _, is := b.done[name]; is {
		return nil
	}
	for _, above := range b.open {
		if above == name {
			return fmt.Errorf("the module %s imports itself, by way of %s", name, strings.Join(b.open, ", "))
		}
	}
	b.open = append(b.open, name)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	text, err := embedded.ReadFile("assets/" + name)
	if err != nil {
		return err
	}
	source := string(text)
	for _, m := range importLine.FindAllStringSubmatch(source, -1) {
		if err := b.imports(name, m[1], m[3]); err != nil {
			return err
		}
	}
	source = importLine.ReplaceAllStringFunc(source, func(line string) string {
		m := importLine.FindStringSubmatch(line)
		what := m[2]
		if what == "" {
			what = "{ " + m[1] + " }"
		}
		return fmt.Sprintf("const %s = modules[%q];", what, m[3])
	})
	exports := []string{}
	source = exportWord.ReplaceAllStringFunc(source, func(word string) string {
		m := exportWord.FindStringSubmatch(word)
		exports = append(exports, m[2])
		return m[1]
	})
	if other := otherWord.FindString(source); other != "" {
		return fmt.Errorf("the module %s contains text that an exported file must not contain: %s", name, other)
	}
	b.done[name] = exports
	fmt.Fprintf(&b.text, "modules[%q] = (() => {\n%sreturn { %s };\n})();\n", name, source, strings.Join(exports, ", "))
	return nil
}

// imports adds module, and checks that it exports the names that the module by imports. Empty names import all.
func (b *bundle) imports(by, names, module string) error {
	if err := b.add(module); err != nil || names == "" {
		return err
	}
	known := " " + strings.Join(b.done[module], " ") + " "
	for name := range strings.SplitSeq(names, ", ") {
		if !strings.Contains(known, " "+name+" ") {
			return fmt.Errorf("the module %s imports %s of %s, which does not export that", by, name, module)
		}
	}
	return nil
}

// shell is an exported file without its data, which belongs between head and tail.
type shell struct{ head, tail string }

// newShell returns the shell of a file with about as its description.
func newShell(about string) (shell, error) {
	script, err := bundled()
	if err != nil {
		return shell{}, err
	}
	read := func(name string) string {
		text, failed := embedded.ReadFile("assets/" + name)
		if failed != nil && err == nil {
			err = failed
		}
		return string(text)
	}
	style, icon := read("page.css"), "data:image/svg+xml;base64,"+base64.StdEncoding.EncodeToString([]byte(read("icon.svg")))
	page := read("index.html")
	// The policy allows no requests, and no other script.
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", hashOf(script), hashOf("\n"+style))
	for _, r := range [][2]string{
		{`<meta charset="utf-8">`, `<meta charset="utf-8">` + "\n  " + `<meta http-equiv="Content-Security-Policy" content="` + policy + `">`},
		{`<meta name="description" content="The objects in a Kubernetes cluster and their changes, live">`, `<meta name="description" content="` + html.EscapeString(about) + `">`},
		{`<link rel="icon" href="assets/icon.svg" type="image/svg+xml">`, `<link rel="icon" href="` + icon + `" type="image/svg+xml">`},
		{`<link rel="stylesheet" href="assets/page.css">`, "<style>\n" + style + "</style>"},
		{`  <script type="module" src="assets/app.js"></script>` + "\n", ""},
		{`<img src="assets/icon.svg"`, `<img src="` + icon + `"`},
	} {
		if strings.Count(page, r[0]) != 1 && err == nil {
			err = fmt.Errorf("%s has no %s", path.Join("assets", "index.html"), r[0])
		}
		page = strings.Replace(page, r[0], r[1], 1)
	}
	head, tail, _ := strings.Cut(page, "</body>")
	return shell{head, "<script>" + script + "</script>\n</body>" + tail}, err
}

// hashOf returns the hash source of a script or style for a Content-Security-Policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
