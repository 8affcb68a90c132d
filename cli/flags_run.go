package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// runFlags say how a run ends, or carries on from another.
type runFlags struct {
	conditionFlags
	list bool
	// ignoreMissing: of --list, that a named object is not there.
	ignoreMissing bool
	printRBAC     bool
	timeout       time.Duration
	state         string
}

func (o *options) addRunFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.list, "list", false, "Print what exists as one List, and end")
	f.BoolVar(&o.ignoreMissing, "ignore-not-found", false, "With --list, print nothing for a named object that is not there")
	f.BoolVar(&o.printRBAC, "print-rbac", false, "Print the smallest roles that allow this, with bindings for the present user or that of --as, and end")
	o.addConditionFlags(f)
	f.DurationVar(&o.timeout, "timeout", 0, "End after this `DURATION`, e.g. 10m, with exit code 0, or 124 if --until did not hold, or --count was not reached, by then")
	f.StringVar(&o.state, "state", "", "Carry on from `FILE`: keep in it what was printed or delivered, and what waits to be; after a restart only what is different comes")
}

func (o *options) parseRun(r *request) (err error) {
	r.list, r.timeout, r.state = o.list, o.timeout, o.state
	if r.ignoreMissing = o.ignoreMissing; o.ignoreMissing && !o.list {
		return errors.New("--ignore-not-found is for --list: a watch waits for what is not there")
	}
	if r.rbac, err = o.printingRBAC(); err != nil {
		return err
	}
	return o.parseConditions(r)
}

// rbac says whether roles are printed, and how.
type rbac struct {
	print  bool
	format string // json or yaml
}

func (o *options) printingRBAC() (rbac, error) {
	r := rbac{print: o.printRBAC, format: "yaml"}
	if r.print && o.given("output") {
		r.format = o.output
	}
	if r.format != "yaml" && r.format != "json" {
		return r, fmt.Errorf("--print-rbac prints yaml or json, not %s", r.format)
	}
	return r, nil
}
