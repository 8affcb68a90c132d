package live

import (
	"fmt"
	"slices"
	"strings"

	"dwatch/output"
	"dwatch/watcher/event"
)

// clusters draws the line with the state of each cluster, and has the colors of their names.
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

func (c *clusters) nameStyle(name string) style { return style{color: c.palette.SGR(name)} }

// lines returns the line with the state of the clusters, or nothing if there is only one cluster.
func (c *clusters) lines() []string {
	if c.Clusters == nil {
		return nil
	}
	all := c.clusterStates()
	for n, room := len(all), c.width-1; n > 0; n-- {
		line := c.line(all, n)
		if n == 1 || c.StringWidth(line) <= room {
			return []string{c.Truncate(" "+line, c.width, ellipsis)}
		}
	}
	return []string{""}
}

// line returns the states of room clusters, in order. If there are more clusters, the most urgent come first, and the line ends
// with the number of the others.
func (c *clusters) line(all []event.ClusterState, room int) string {
	rest := len(all) - room
	if rest > 0 {
		all = slices.Clone(all)
		slices.SortStableFunc(all, func(a, b event.ClusterState) int { return urgency(b.Phase) - urgency(a.Phase) })
	}
	var parts []string
	for _, s := range all[:room] {
		parts = append(parts, c.describe(s))
	}
	if rest > 0 {
		parts = append(parts, c.paint(faint, fmt.Sprintf("%s %d more", ellipsis, rest)))
	}
	return strings.Join(parts, "  ")
}

// urgency ranks the phases of clusters. Higher values need attention more.
func urgency(p event.Phase) int {
	switch p {
	case event.PhaseLost, event.PhaseDenied:
		return 2
	case event.PhaseConnecting:
		return 1
	}
	return 0
}

func (c *clusters) describe(s event.ClusterState) string {
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
	return c.paint(look, sign) + " " + c.paint(c.nameStyle(s.Name), c.middle(output.EscapeLine(s.Name), maxCluster)) + c.paint(look, word)
}

// clusterStates returns the states of all clusters. It requires s.mu to be held.
func (s *store) clusterStates() []event.ClusterState {
	var all []event.ClusterState
	for _, m := range s.Clusters() {
		all = append(all, s.links.ClusterState(m))
	}
	return all
}
