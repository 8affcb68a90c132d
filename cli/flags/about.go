package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/mapper"
	"dwatch/watcher/until"
)

// About says which object the Events that are watched are about.
type About struct{ object string }

// AddTo adds the flag to f.
func (a *About) AddTo(f *pflag.FlagSet) {
	f.StringVar(&a.object, "for", "", "Of Events, watch those about `TYPE/NAME` and what it owns, e.g. deploy/web with its replica sets and pods")
	notEmpty(f, "for")
}

// Parse returns the object; nil if the flag is not given.
func (a *About) Parse() (*mapper.Argument, error) {
	if a.object == "" {
		return nil, nil
	}
	if slices.Contains(until.Quantifiers, a.object) {
		return nil, fmt.Errorf("invalid --for %q: it takes the object that Events are about, e.g. deploy/web; of how many objects --until has to hold is said by --until-for %[1]s", a.object)
	}
	if condition, _, is := strings.Cut(a.object, "="); is || condition == "delete" || condition == "create" {
		return nil, fmt.Errorf("invalid --for %q: it takes the object that Events are about, e.g. deploy/web; to wait for that say dwatch wait TYPE/NAME --for %[1]s", a.object)
	}
	parsed, err := mapper.ParseArguments([]string{a.object}, nil)
	if err == nil && (len(parsed) != 1 || parsed[0].Name == "") {
		err = errors.New("it takes one object as TYPE/NAME, e.g. deploy/web")
	}
	if err != nil {
		return nil, fmt.Errorf("invalid --for %q: %w", a.object, err)
	}
	return &parsed[0], nil
}
