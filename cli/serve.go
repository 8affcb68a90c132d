package cli

import (
	"cmp"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/flags"
	"dwatch/cli/replay"
)

// serveOptions are the flags of dwatch serve.
type serveOptions struct {
	watchOptions
	page   flags.Page
	noise  flags.Noise
	masks  flags.Masks
	record flags.Recording
	rewind rewindOptions
}

func (s *serveOptions) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to show", s.targets.AddTo, flags.Subject(&s.object), s.targets.AddWait),
		flags.NewGroup("The past", s.rewind.addTo),
		flags.NewGroup("Web server", s.page.AddTo, flags.Timeout(&s.cfg.Ending.Timeout, "with exit code 0"), flags.Listen(&s.cfg.Listen)),
		flags.NewGroup("Changes", s.noise.AddTo, s.masks.AddTo, s.masks.AddShowSecrets("")),
		flags.NewGroup("Recording", s.record.AddTo),
	}
}

func (s *serveOptions) complete(args []string, _ console.Terminal) error {
	s.cfg.Filter.PassStatus = true
	if err := s.page.CheckArguments(args); err != nil {
		return err
	}
	if err := cmp.Or(s.rewind.read(s.all), s.selectTargets(args)); err != nil {
		return err
	}
	s.noise.Apply(&s.cfg.Print.Compare)
	s.cfg.Ignored = s.noise.IgnoredPaths()
	s.recordTee(s.record)
	return nil
}

func (s *serveOptions) validate() error {
	if s.rewind.from.IsSet() {
		return cmp.Or(replay.CheckFlags(s.all, s.server, s.cfg.Selection), s.page.Check(), s.masks.Parse(&s.cfg.Print, true))
	}
	return cmp.Or(s.cfg.Selection.CheckFixedNamespaces("dwatch serve"), s.page.Check(), s.masks.Parse(&s.cfg.Print, true),
		s.record.Check(s.all), s.cfg.CheckRecording())
}

func (s *serveOptions) task() task {
	to := &destination.Page{Page: s.page, UTC: s.messages.UTC}
	t := &watchTask{cfg: s.cfg, to: to}
	if s.rewind.from.IsSet() {
		t.browser = replay.NewBrowser(s.rewind.replay())
		to.Past = t.browser.Past
	}
	return t
}
