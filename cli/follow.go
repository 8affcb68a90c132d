package cli

import (
	"cmp"
	"errors"

	"dwatch/cli/flags"
)

// followFlags are the flags of what follows events, perhaps for months: which, until when,
// and from where.
type followFlags struct {
	events flags.Events
	where  flags.Where
	ends   flags.Ends
	state  flags.State
	listen flags.Listen
}

func (f *followFlags) endGroup() flags.Group {
	return flags.NewGroup("How it ends and carries on", f.ends.AddTo, f.state.AddTo, f.listen.AddTo)
}

// parseInto sets what is followed.
func (f *followFlags) parseInto(w *watching, c *common, args []string) (err error) {
	w.listen, w.stateFile = f.listen.Address, f.state.Path
	if w.selection, err = c.selected(args); err != nil {
		return err
	}
	if w.filter, err = f.events.Parse(); err != nil {
		return err
	}
	if w.where, err = f.where.Parse(); err != nil {
		return err
	}
	if w.ending.Ending, err = f.ends.Parse(w.stateFile != ""); err != nil {
		return err
	}
	if w.object != nil && w.stateFile != "" {
		return errors.New("--for asks the server what owns what Events are about, as they come: it does not go with --state")
	}
	return cmp.Or(f.state.Check(), f.listen.Check())
}
