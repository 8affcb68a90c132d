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

// bundle makes one script of the modules of the page, for a file that is opened without a server: browsers load no
// modules from files. Each module is a function, which is called when those that it imports have been.
type bundle struct {
	text strings.Builder
	done map[string][]string // modules and what they export
	open []string            // those that are being looked at: none of them may come again
}

var (
	// importLine is the only form in which the modules of the page import, exportWord that in which they export.
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

// add appends a module, after those that it imports.
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
		return fmt.Errorf("the module %s has what a file can't: %s", name, other)
	}
	b.done[name] = exports
	fmt.Fprintf(&b.text, "modules[%q] = (() => {\n%sreturn { %s };\n})();\n", name, source, strings.Join(exports, ", "))
	return nil
}

// imports adds a module of which another one imports names; empty: all.
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

// shell is the page in one file, but for the data, which stands between its two parts.
type shell struct{ head, tail string }

// newShell says what the file is about to who looks into it without a browser.
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
	// No request at all is allowed, and no script but this one.
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", hashOf(script), hashOf("\n"+style))
	for _, r := range [][2]string{
		{`<meta charset="utf-8">`, `<meta charset="utf-8">` + "\n  " + `<meta http-equiv="Content-Security-Policy" content="` + policy + `">`},
		{`<meta name="description" content="What is there in a Kubernetes cluster and what happens, live">`, `<meta name="description" content="` + html.EscapeString(about) + `">`},
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

// hashOf is how a policy names the text of a script or a style.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
