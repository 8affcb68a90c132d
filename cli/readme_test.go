package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/complete"
	"dwatch/cli/flags"
	"dwatch/testdata/readme"
)

var flagTables = regexp.MustCompile(`(?ms)^## dwatch RESOURCE\.\.\.\n.*?^(## Connection)`)

// TestReadmeFlags: there is a table for each command with each of its flags, and each
// connection flag that the text after them names exists.
func TestReadmeFlags(t *testing.T) {
	text := readme.Read(t, "docs/reference/flags.md")
	old := flagTables.FindString(text)
	if old == "" {
		t.Fatal("docs/reference/flags.md has no tables of flags")
	}
	fresh := flagTable("dwatch RESOURCE...", streamDescription)
	for _, d := range commands {
		fresh += flagTable("dwatch "+d.name, d)
	}
	readme.CheckOrUpdate(t, "docs/reference/flags.md", old, fresh+"## Connection")

	_, rest, _ := strings.Cut(text, old)
	connection := connectionFlags()
	for _, name := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(rest, -1) {
		if connection.Lookup(name[1]) == nil {
			t.Errorf("there is no connection flag --%s", name[1])
		}
	}
}

// flagTable is what docs/reference/flags.md has of a command.
func flagTable(title string, d description) string {
	table := "## " + title + "\n\n| Flag | Meaning |\n|---|---|\n"
	c := d.newOptions(nil)
	addFlags(pflag.NewFlagSet("", pflag.ContinueOnError), c)
	groups := append(d.newOptions(nil).groups(), flags.NewGroup("State of custom resources", c.shared().readiness.AddTo), flags.NewGroup("Messages", c.shared().messages.AddTo))
	if d.wrap != nil { // the rest are flags of the inner command
		groups = groups[:1]
	}
	for _, g := range groups {
		table += "| **" + g.Title + "** | |\n"
		g.Flags.VisitAll(func(f *pflag.Flag) { table += flagRow(f) })
	}
	return table + "\n"
}

func connectionFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(cluster.Flags).AddFlags(f)
	return f
}

func flagRow(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	usage = strings.ReplaceAll(usage, "*", `\*`) // two of them would make the text between them italic
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

// anchors returns the anchors of the headings of a page.
func anchors(text string) (names []string) {
	for _, h := range heading.FindAllStringSubmatch(codeText.ReplaceAllString(text, ""), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestReadmeLinks: what the README and the pages in docs link to is there.
func TestReadmeLinks(t *testing.T) {
	for _, page := range readme.PageNames(t) {
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

// TestReadmeIndex checks that docs/README.md links to every other page in docs exactly once, and that README.md links to
// docs/README.md.
func TestReadmeIndex(t *testing.T) {
	const index = "docs/README.md"
	links := func(page string) (to []string) {
		for _, link := range pageLink.FindAllStringSubmatch(readme.Read(t, page), -1) {
			to = append(to, path.Join(path.Dir(page), link[1]))
		}
		return to
	}
	if !slices.Contains(links("README.md"), index) {
		t.Errorf("README.md does not link to %s", index)
	}
	listed := map[string]int{}
	for _, page := range links(index) {
		listed[page]++
	}
	for _, page := range readme.PageNames(t) {
		if page != index && listed[page] != 1 {
			t.Errorf("%s links to %s %d times, want 1", index, page, listed[page])
		}
	}
}

// TestReadmeTitles checks that the tables of README.md and docs/README.md link to each page by its title.
func TestReadmeTitles(t *testing.T) {
	row := regexp.MustCompile(`\| \[([^\]]+)\]\(([^)#]+\.md)\)`)
	for _, index := range []string{"README.md", "docs/README.md"} {
		links := row.FindAllStringSubmatch(readme.Read(t, index), -1)
		if len(links) == 0 {
			t.Errorf("%s has no table of pages", index)
		}
		for _, link := range links {
			page := path.Join(path.Dir(index), link[2])
			if !strings.HasPrefix(page, "docs/") {
				continue
			}
			title, _, _ := strings.Cut(readme.Read(t, page), "\n")
			if title != "# "+link[1] {
				t.Errorf("%s links to %s as %q, but its title is %q", index, page, link[1], title)
			}
		}
	}
}

// TestAnchors: anchors are as GitHub makes them.
func TestAnchors(t *testing.T) {
	got := anchors("# dwatch RESOURCE...\n```\n# no heading\n```\n## The file of --state\n### `*` & co., 1.2\n")
	if want := []string{"dwatch-resource", "the-file-of---state", "--co-12"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestReadmeLength: the README is short, and longer texts are in docs.
func TestReadmeLength(t *testing.T) {
	if lines := strings.Count(readme.Read(t, "README.md"), "\n"); lines > 200 {
		t.Errorf("README.md has %d lines, of at most 200", lines)
	}
}

var (
	codeSpan  = regexp.MustCompile("`((?:--|dwatch )[^`\n]+)`")
	longFlag  = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]+)`)
	elsewhere = []string{"chunk-size", "output-watch-events"} // flags of kubectl
)

// TestReadmeFlagsExist: the flags that the pages name in passing are there.
func TestReadmeFlagsExist(t *testing.T) {
	there := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, d := range append(slices.Clone(commands), streamDescription) {
		addFlags(there, d.newOptions(nil))
	}
	named := 0
	for _, page := range readme.PageNames(t) {
		for _, span := range codeSpan.FindAllStringSubmatch(readme.Read(t, page), -1) {
			for _, flag := range longFlag.FindAllStringSubmatch(span[1], -1) {
				named++
				if there.Lookup(flag[1]) == nil && !slices.Contains(elsewhere, flag[1]) {
					t.Errorf("%s: there is no flag --%s: %s", page, flag[1], span[0])
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("%d flags are found", named)
	}
}

// shellText is what a page tells to type without showing what comes of it: a block, or a
// line of one that is indented.
var shellText = regexp.MustCompile("(?m)^```sh\n((?:.*\n)*?)^```$|^    (dwatch .*)$")

// TestReadmeCommands: what the README and the pages in docs tell to type, other than in examples
// that are run, can be typed.
func TestReadmeCommands(t *testing.T) {
	inTheEvening(t)
	text := readme.Read(t, "README.md")
	makefile := readme.Read(t, "Makefile")
	for _, target := range regexp.MustCompile("(?m)(?:^|`)make ([a-z/-]+)").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^` + target[1] + `:`).MatchString(makefile) {
			t.Errorf("the Makefile has no target %s", target[1])
		}
	}
	for _, page := range readme.PageNames(t) {
		for _, block := range shellText.FindAllStringSubmatch(readme.Read(t, page), -1) {
			checkCommands(t, block[1]+block[2])
		}
	}
	for _, path := range regexp.MustCompile("`([a-z]+/(?:[a-z./]*))`").FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(readme.Path(t, path[1])); err != nil && !strings.HasPrefix(path[1], "bin/") {
			t.Error(err)
		}
	}
}

// inTheEvening has a test run in a zone in which times of today, such as 02:00, have been.
func inTheEvening(t *testing.T) {
	here := time.Local
	t.Cleanup(func() { time.Local = here })
	time.Local = time.FixedZone("", int((22*time.Hour-time.Duration(time.Now().UTC().Hour())*time.Hour)/time.Second))
}

// TestHelpExamples: what --help shows can be typed.
func TestHelpExamples(t *testing.T) {
	inTheEvening(t)
	cmd := testRoot()
	for _, c := range append(cmd.Commands(), cmd) {
		if n := checkCommands(t, c.Example); n == 0 && c.IsAvailableCommand() && c.Name() != "help" {
			t.Errorf("the help of %s shows no example", c.Name())
		}
	}
	for _, task := range helpTasks {
		if n := checkCommands(t, "dwatch "+task.line); n != 1 {
			t.Errorf("%s: %d command lines", task.goal, n)
		}
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

// timeOfDay matches a flag with a time of today, which is refused before that time.
var timeOfDay = regexp.MustCompile(`(--(?:since|before|at)) (\d\d:\d\d)\b`)

// checkCommands parses each command line of dwatch in a text, and returns how
// many there were.
func checkCommands(t *testing.T, text string) int {
	t.Helper()
	text = regexp.MustCompile(`\\\n\s+`).ReplaceAllString(text, "") // lines that are continued
	text = timeOfDay.ReplaceAllString(text, "$1 2026-01-31T$2")
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
		if _, _, err := parsed(args); err != nil && !errors.Is(err, fs.ErrNotExist) { // the reader has the file
			t.Errorf("%s: %v", match[0], err)
		}
	}
	return len(found)
}
