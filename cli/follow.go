package cli

import (
	"errors"

	"dwatch/cli/flags"
)

// followFlags are the flags of what follows events, perhaps for months: which, until when,
// and from where.
type followFlags struct{ watchFlags }

func (f *followFlags) endGroup() flags.Group {
	return flags.NewGroup("How it ends and carries on", f.w.ending.AddTo, f.w.ending.AddCountTo,
		flags.State(&f.w.stateFile), flags.Listen(&f.w.listen))
}

// parseTargets sets what is followed.
func (f *followFlags) parseTargets(args []string) error {
	if err := f.selectTargets(args); err != nil {
		return err
	}
	if f.object != nil && f.w.stateFile != "" {
		return errors.New("--for asks the server what owns what Events are about, as they come: it does not go with --state")
	}
	return f.w.ending.Check(f.w.stateFile != "")
}
