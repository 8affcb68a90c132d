package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"dwatch/cli/console"
)

// parsed parses a command line, without its name, as dwatch does.
func parsed(args []string) (options, task, error) {
	o := streamDescription.options()
	for _, d := range commands {
		if len(args) > 0 && args[0] == d.name {
			o, args = d.newOptions(args), args[1:]
			for _, of := range wrappedBy(d, commands, slices.Concat([]string{d.name}, args)) {
				if len(args) > 0 && args[0] == of.name {
					o, args = of.options(), args[1:]
					break
				}
			}
			break
		}
	}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(f, o)
	if err := f.Parse(args); err != nil {
		return o, nil, err
	}
	_, live := o.(*liveOptions)
	err := o.complete(f.Args(), console.Terminal{IsTerminal: live})
	if err == nil {
		err = o.validate()
	}
	if err != nil {
		return o, nil, err
	}
	return o, o.task(), nil
}

// TestRedeliverFlags: --redeliver takes the flags of receivers, and none of the flags for watching.
func TestRedeliverFlags(t *testing.T) {
	for flag, taken := range map[string]bool{
		"--to-token-file=token": true,
		"--to-ca=ca":            true,
		"--workers=2":           true,
		"--context=other":       true,
		"--quiet":               true,
		"--timeout=1m":          true,
		"--all-namespaces":      false,
		"--state=f":             false,
		"--latest":              false,
		"--listen=:9090":        false,
		"--where=true":          false,
	} {
		_, _, err := parsed([]string{"send", "--redeliver=dead", "--to=https://example.com", flag})
		if (err == nil) != taken {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if _, _, err := parsed([]string{"send", "--redeliver=dead", "--context=other", "--", "true"}); err == nil {
		t.Error("a command needs no cluster")
	}
}

// TestMoved checks errors that suggest a command line: they name the command, and the resources that were named.
func TestMoved(t *testing.T) {
	for line, want := range map[[3]string]string{
		{"--live", "deploy,po", "-A"}:         "dwatch has no flag --live: use dwatch live deploy,po",
		{"-r", "deploy", "--list"}:            "dwatch has no flag --list: use dwatch list deploy",
		{"pods", "--serve=:8080", "-q"}:       "dwatch has no flag --serve: use dwatch serve pods --addr HOST:PORT",
		{"jobs", "--to=https://a.example"}:    "dwatch has no flag --to: use dwatch send jobs --to URL",
		{"--redeliver=f"}:                     "dwatch has no flag --redeliver: use dwatch send --redeliver FILE --to URL",
		{"deploy", "--print-rbac"}:            "dwatch has no flag --print-rbac: use dwatch rbac deploy",
		{"pods", "--workers", "4"}:            "--workers is a flag of dwatch send, not of dwatch; see 'dwatch send --help-all'",
		{"list", "pods", "--until=true"}:      "--until is a flag of dwatch, dwatch live, dwatch send, not of dwatch list; see 'dwatch help flags'",
		{"wait", "pods", "--marks"}:           "--marks is a flag of dwatch, not of dwatch wait; see 'dwatch help flags'",
		{"wait"}:                              "no resource given: name a type, as in 'dwatch wait pods', or an object, as in 'dwatch wait deploy/web'",
		{"explain-readiness"}:                 "no resource given: name a type, as in 'dwatch explain-readiness pods', or an object, as in 'dwatch explain-readiness deploy/web'",
		{"pods", "pods/a"}:                    "\"pods\" is neither a command ('dwatch --help' lists them) nor TYPE/NAME: name each object as TYPE/NAME, as in 'dwatch pods/a pods/b', and all objects of a type with -r, as in 'dwatch deploy/web -r pods'",
		{"list", "pods", "pods/a"}:            "\"pods\" is not TYPE/NAME: name each object as TYPE/NAME, as in 'dwatch list pods/a pods/b', and all objects of a type with -r, as in 'dwatch list deploy/web -r pods'",
		{"record d", "pods/a", "pods"}:        "\"pods\" is not TYPE/NAME: name each object as TYPE/NAME, as in 'dwatch record DIR pods/a pods/b', and all objects of a type with -r, as in 'dwatch record DIR deploy/web -r pods'",
		{"wait", "pods", "--addr=:1"}:         "--addr is a flag of dwatch serve, not of dwatch wait; see 'dwatch serve --help-all'",
		{"--chunk-size", "5"}:                 "dwatch does not have --chunk-size: it chooses the page size itself, so leave the flag out",
		{"rbac", "list", "--sort-bi"}:         "unknown flag: --sort-bi; did you mean --sort-by?",
		{"serve", "pods", "--open=perhaps"}:   `invalid argument "perhaps" for "--open" flag: strconv.ParseBool: parsing "perhaps": invalid syntax; see 'dwatch serve --help-all'`,
		{"pods", "--exclude-ns", "a"}:         "dwatch has no flag --exclude-ns: use --exclude-namespace NAMESPACE",
		{"list", "pods", "--exclude-ns=a"}:    "dwatch list has no flag --exclude-ns: use --exclude-namespace NAMESPACE",
		{"send", "--deadline=1s", "--batch2"}: "unknown flag: --batch2; did you mean --batch?",
	} {
		var args []string
		for _, arg := range line {
			args = append(args, strings.Fields(arg)...)
		}
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		root := newRoot("dwatch", args, Streams{Out: null, Err: null})
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
