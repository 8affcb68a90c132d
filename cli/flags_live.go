package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

func (o *options) addLiveFlag(f *pflag.FlagSet) {
	f.BoolVar(&o.live, "live", false, "Show what there is at the terminal, as a table that changes in place; its keys are on the screen, ? explains them")
}

// notLive are the flags that have no effect on a table of what there is, or can't be
// obeyed by it.
var notLive = []string{
	"list", "print-rbac", "state", "watch-only", "types", "count", "marks", "heartbeat",
	"old", "changes", "patch", "mask", "mask-secrets", "template", "no-headers", "initial",
}

// checkLive finds what does not go with --live.
func (o *options) checkLive(t terminal) error {
	if !o.live {
		return nil
	}
	for _, name := range notLive {
		if o.given(name) {
			return fmt.Errorf("--live shows a table of what there is: it does not go with --%s", name)
		}
	}
	switch {
	case o.hasReceiver():
		return errors.New("--live shows a table at the terminal: it does not go with a receiver")
	case !isTable(o.output):
		return fmt.Errorf("--live shows a table: it goes with -o table and wide, not with -o %s", o.output)
	case !t.isTerminal:
		return errors.New("--live needs a terminal, and stdout is none")
	case t.isDumb:
		return errors.New("--live needs a terminal that can be drawn on, and by TERM this one can't")
	}
	return nil
}
