package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/owned"
	"dwatch/watcher/until"
)

func (o *options) addAboutFlag(f *pflag.FlagSet) {
	f.StringVar(&o.about, "for", "", "Of events, watch those about `TYPE/NAME` and what it owns, e.g. deploy/web with its replica sets and pods")
}

// parseAbout reads the object that events are to be about; nil if the flag is not given.
func (o *options) parseAbout() (*mapper.Argument, error) {
	if !o.given("for") {
		return nil, nil
	}
	if slices.Contains(until.Quantifiers, o.about) {
		return nil, fmt.Errorf("invalid --for %q: it takes the object that events are about, e.g. deploy/web; of how many objects --until has to hold is said by --until-for %[1]s", o.about)
	}
	if condition, _, is := strings.Cut(o.about, "="); is || condition == "delete" || condition == "create" {
		return nil, fmt.Errorf("invalid --for %q: it takes the object that events are about, e.g. deploy/web; what kubectl wait waits for is said by --until, see docs/expressions.md", o.about)
	}
	parsed, err := mapper.ParseArguments([]string{o.about}, nil)
	switch {
	case err == nil && (len(parsed) != 1 || parsed[0].Name == ""):
		err = errors.New("it takes one object as TYPE/NAME, e.g. deploy/web")
		fallthrough
	case err != nil:
		return nil, fmt.Errorf("invalid --for %q: %w", o.about, err)
	}
	if o.given("state") {
		return nil, errors.New("--for asks the server what owns what events are about, as they come: it does not go with --state")
	}
	return &parsed[0], nil
}

// findAbout finds out what the events of these targets are to be about.
func (j *job) findAbout(ctx context.Context, targets []event.Target) error {
	if j.about == nil {
		return nil
	}
	for _, t := range targets {
		if !owned.IsEvent(t.Mapping.GroupVersionKind.GroupKind()) {
			return fail.Usage(fmt.Errorf("--for %s is about events, and %s are none: say dwatch events --for %[1]s", j.about, t.Resource().GroupResource()))
		}
	}
	ctx, cancel := j.Ask(ctx)
	defer cancel()
	answer, err := j.mapper.Resolve(ctx, j.about.Resource)
	if err != nil {
		return j.unplanned(err)
	}
	if answer.Set {
		return fail.Usage(fmt.Errorf("invalid --for %q: %s is several resources", j.about, j.about.Resource))
	}
	mapping := answer.Mappings[0]
	root := owned.Root{GroupKind: mapping.GroupVersionKind.GroupKind(), Name: j.about.Name}
	object := event.Target{Mapping: mapping}
	if !object.Namespaced() && !j.allNamespaces && !slices.Contains(j.watchedNamespaces(), "default") {
		report.Line(j.reports, fmt.Sprintf("%s is cluster-scoped: its events are in namespace default, for -n default or -A", j.about))
	}
	j.aboutTarget = &object
	lookup, err := j.newOwners()
	if err != nil {
		return err
	}
	j.owned = func(next event.Sink) *owned.Stage { return owned.New(next, root, lookup.of) }
	return nil
}

// watchedNamespaces are those that are watched if not all are.
func (j *job) watchedNamespaces() []string {
	if len(j.namespaces) == 0 {
		return []string{j.Namespace}
	}
	return j.namespaces
}

// aboutNote says of what is watched that not all of it is.
func (j *job) aboutNote() string {
	if j.about == nil {
		return ""
	}
	return ", about " + j.about.String() + " and what it owns"
}

// onlyOwned returns a Sink before next that lets pass what --for asks for.
func (j *job) onlyOwned(next event.Sink) event.Sink {
	if j.owned == nil {
		return next
	}
	return j.owned(next)
}

// listOwned returns those of objects that --for asks for.
func (j *job) listOwned(ctx context.Context, objects []event.Object) ([]event.Object, error) {
	if j.owned == nil {
		return objects, nil
	}
	stage := j.owned(nil)
	var chosen []event.Object
	for _, o := range objects {
		has, err := stage.Has(ctx, o)
		if err != nil {
			return nil, err
		}
		if has {
			chosen = append(chosen, o)
		}
	}
	return chosen, nil
}
