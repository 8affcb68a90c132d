package cli

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/watcher/object/expression"
)

// TestListWhere checks that list accepts the words and examples that its help and completion offer, and that errors about other words
// name an expression that it accepts.
func TestListWhere(t *testing.T) {
	check := func(text string) error {
		var where []flags.Condition
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.ListWhere(&where)(f)
		if err := f.Set("where", text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return checkListWhere(where)
	}
	cmd, _ := newCommand(listDescription, "dwatch", nil, Streams{Err: io.Discard})
	flag := cmd.Flags().Lookup("where")
	offered := flags.CompletionValues(flag)
	for _, word := range expression.Presets() {
		if isOffered := slices.Contains(offered, word); isOffered != (check(word) == nil && word != "deleted") {
			t.Errorf("%s: offered: %v, error: %v", word, isOffered, check(word))
		}
	}
	for _, start := range []string{"changed(", "changes.exists(c, ", "managers.exists(m, ", "old."} {
		if slices.Contains(offered, start) {
			t.Errorf("completion offers %s", start)
		}
	}
	for _, example := range []string{"failed", "!ready(object)", "object.spec.replicas > 3"} {
		if !strings.Contains(flag.Usage, example) {
			t.Errorf("help lacks the example %s: %s", example, flag.Usage)
		}
		if err := check(example); err != nil {
			t.Error(err)
		}
	}
	for word, want := range map[string]string{"unready": "!ready(object)", " restarted": "restarts(object) > 0", "evicted": "evicted(object)", "scaled": ""} {
		err := check(word)
		if err == nil {
			t.Errorf("%s is accepted", word)
			continue
		}
		var got string
		if named := regexp.MustCompile(`--where '(.*)' for`).FindStringSubmatch(err.Error()); named != nil {
			got = named[1]
		}
		if got != want || want != "" && check(want) != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
}
