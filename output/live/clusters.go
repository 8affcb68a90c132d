package live

import (
	"fmt"
	"slices"
	"strings"

	"dwatch/output"
	"dwatch/watcher/event"
)

// clusters is the line that says how each of several clusters is, and has the colours of their names.
type clusters struct {
	*canvas
	*store
	palette output.Palette
}

func newClusters(c *canvas, s *store) *clusters {
	all := &clusters{canvas: c, store: s}
	if s.Clusters != nil {
		all.palette = output.NewPalette(event.ClusterNames(s.Clusters())...)
	}
	return all
}

func (c *clusters) look(name string) style { return style{color: c.palette.SGR(name)} }

// lines are none where it is one cluster.
func (c *clusters) lines() []string {
	if c.Clusters == nil {
		return nil
	}
	all := c.standings()
	for n, room := len(all), c.width-1; n > 0; n-- {
		line := c.line(all, n)
		if n == 1 || c.StringWidth(line) <= room {
			return []string{c.Truncate(" "+line, c.width, ellipsis)}
		}
	}
	return []string{""}
}

// line has room for so many: first for those that are not well. Where there is room for all, they
// stand in their own order.
func (c *clusters) line(all []event.ClusterState, room int) string {
	rest := len(all) - room
	if rest > 0 {
		all = slices.Clone(all)
		slices.SortStableFunc(all, func(a, b event.ClusterState) int { return need(b.Phase) - need(a.Phase) })
	}
	var parts []string
	for _, s := range all[:room] {
		parts = append(parts, c.one(s))
	}
	if rest > 0 {
		parts = append(parts, c.paint(faint, fmt.Sprintf("%s %d more", ellipsis, rest)))
	}
	return strings.Join(parts, "  ")
}

// need is how much a cluster needs a look.
func need(p event.Phase) int {
	switch p {
	case event.PhaseLost, event.PhaseDenied:
		return 2
	case event.PhaseConnecting:
		return 1
	}
	return 0
}

func (c *clusters) one(s event.ClusterState) string {
	sign, look, word := "●", fine, ""
	switch s.Phase {
	case event.PhaseConnecting:
		sign, look, word = "◌", waiting, " connecting"
	case event.PhaseDenied:
		sign, look, word = "✗", broken, " denied"
	case event.PhaseLost:
		sign, look, word = "✗", broken, " not connected"
		if !s.Since.IsZero() {
			word = " lost " + output.FormatAge(c.now(), s.Since)
		}
	}
	return c.paint(look, sign) + " " + c.paint(c.look(s.Name), c.middle(output.EscapeLine(s.Name), mostCluster)) + c.paint(look, word)
}

// standings are those of all clusters. The store is locked.
func (s *store) standings() []event.ClusterState {
	var all []event.ClusterState
	for _, m := range s.Clusters() {
		all = append(all, s.links.ClusterState(m))
	}
	return all
}
