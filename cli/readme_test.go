package cli

import (
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/complete"
	"dwatch/testdata/readme"
)

var flagTable = regexp.MustCompile(`(?m)^\| Flag \| Meaning \|\n(?:\|.*\n)*`)

// TestReadmeFlags: the table has each flag, and each connection flag that the
// text after it names exists.
func TestReadmeFlags(t *testing.T) {
	text := readme.Read(t, "docs/flags.md")
	old := flagTable.FindString(text)
	if old == "" {
		t.Fatal("docs/flags.md has no table of flags")
	}
	fresh := "| Flag | Meaning |\n|---|---|\n"
	connection := connectionFlags()
	for _, g := range new(options).newFlagGroups() {
		rows := ""
		g.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && connection.Lookup(f.Name) == nil {
				rows += flagRow(f)
			}
		})
		if rows != "" {
			fresh += "| **" + g.title + "** | |\n" + rows
		}
	}
	readme.Update(t, "docs/flags.md", old, fresh)

	_, rest, _ := strings.Cut(text, old)
	paragraph, _, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
	for _, name := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(paragraph, -1) {
		if connection.Lookup(name[1]) == nil {
			t.Errorf("there is no connection flag --%s", name[1])
		}
	}
}

func connectionFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(cluster.Flags).AddFlags(f)
	return f
}

func flagRow(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	flag := "--" + f.Name
	if f.Shorthand != "" {
		flag = "-" + f.Shorthand + ", " + flag
	}
	if value == strings.ToUpper(value) && value != "" {
		flag += " " + value
	}
	if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
		usage += fmt.Sprintf(" (default `%s`)", f.DefValue)
	}
	return fmt.Sprintf("| `%s` | %s |\n", flag, strings.ReplaceAll(usage, "|", `\|`))
}

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeText = regexp.MustCompile("(?ms)^```.*?^```$")
)

// anchors are the names by which links lead to the headings of a page.
func anchors(text string) (names []string) {
	for _, h := range heading.FindAllStringSubmatch(codeText.ReplaceAllString(text, ""), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestReadmeLinks: what the README and the pages in docs link to is there.
func TestReadmeLinks(t *testing.T) {
	for _, page := range readme.Pages(t) {
		for _, link := range pageLink.FindAllStringSubmatch(readme.Read(t, page), -1) {
			to, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			if to = path.Join(path.Dir(page), to); strings.HasPrefix(link[1], "#") {
				to = page
			}
			if _, err := os.Stat(readme.Path(t, to)); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if anchor != "" && !slices.Contains(anchors(readme.Read(t, to)), anchor) {
				t.Errorf("%s: %s has no heading %s", page, to, anchor)
			}
		}
	}
}

// TestAnchors: headings are named as those who show the pages do.
func TestAnchors(t *testing.T) {
	got := anchors("# dwatch RESOURCE...\n```\n# no heading\n```\n## The file of --state\n### `*` & co., 1.2\n")
	if want := []string{"dwatch-resource", "the-file-of---state", "--co-12"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestReadmeLength: the README is for a first look; what is longer is in docs.
func TestReadmeLength(t *testing.T) {
	if lines := strings.Count(readme.Read(t, "README.md"), "\n"); lines > 350 {
		t.Errorf("README.md has %d lines, of at most 350", lines)
	}
}

// TestReadmeCommands: what the README tells to type, other than in examples
// that are run, can be typed.
func TestReadmeCommands(t *testing.T) {
	text := readme.Read(t, "README.md")
	makefile := readme.Read(t, "Makefile")
	for _, target := range regexp.MustCompile("(?m)(?:^|`)make ([a-z/-]+)").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^` + target[1] + `:`).MatchString(makefile) {
			t.Errorf("the Makefile has no target %s", target[1])
		}
	}
	for _, block := range regexp.MustCompile("(?m)^```sh\n((?:.*\n)*?)^```$").FindAllStringSubmatch(text, -1) {
		checkCommands(t, block[1])
	}
	for _, path := range regexp.MustCompile("`([a-z]+/(?:[a-z./]*))`").FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(readme.Path(t, path[1])); err != nil && !strings.HasPrefix(path[1], "bin/") {
			t.Error(err)
		}
	}
}

// TestHelpExamples: what --help shows can be typed.
func TestHelpExamples(t *testing.T) {
	cmd := newCommand("dwatch", Streams{Err: io.Discard})
	if n := checkCommands(t, cmd.Example); n == 0 {
		t.Error("the help shows no example")
	}
	words := regexp.MustCompile(`Name resources as with kubectl: ((?s).*?), or a category`).FindStringSubmatch(cmd.Long)
	if words == nil {
		t.Fatal("the help does not say how resources are named")
	}
	for form := range strings.SplitSeq(strings.Join(strings.Fields(words[1]), " "), ", ") {
		checkCommands(t, "dwatch "+form)
	}
}

var (
	dwatchCommand = regexp.MustCompile(`(?m)(?:^|<\()\s*(?:kubectl )?dwatch(?: ((?:"[^"\n]*"|'[^'\n]*'|[^|)\n>#"'])*))?`)
	// shellWord is one without anything that the shell makes something else of but
	// quotes.
	shellWord = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
)

// shellWords returns the words of a command line as the shell has them.
func shellWords(line string) []string {
	words := shellWord.FindAllString(line, -1)
	for i, word := range words {
		words[i] = regexp.MustCompile(`"([^"]*)"|'([^']*)'`).ReplaceAllString(word, "$1$2")
	}
	return words
}

// checkCommands parses each command line of dwatch in a text, and returns how
// many there were.
func checkCommands(t *testing.T, text string) int {
	t.Helper()
	found := dwatchCommand.FindAllStringSubmatch(text, -1)
	for _, match := range found {
		args := shellWords(match[1])
		if len(args) > 0 && args[0] == "completion" {
			args = args[1:]
			if !slices.Contains(complete.Shells, args[0]) {
				t.Errorf("%s: no such shell", match[0])
			}
			continue
		}
		o := &options{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(f)
		if err := f.Parse(args); err != nil {
			t.Errorf("%s: %v", match[0], err)
			continue
		}
		if _, err := o.parse(f.Args(), terminal{isTerminal: o.live}); err != nil {
			t.Errorf("%s: %v", match[0], err)
		}
	}
	return len(found)
}
