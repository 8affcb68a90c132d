package live

import "strings"

const helpText = `
# Rows
✗ ◌            failed, or not ready, according to its status; these come first,
               and STATE shows the reason unless another column does
+ ~ -          added, changed, deleted a few seconds ago
               changed cells are highlighted, and fade

# Keys
↑ ↓ or k j, pgup pgdn, home end or g G, wheel: move; ← → in a text
tab            next resource; shift+tab: previous resource
enter          changes of the object since the start, and who made them
d              its YAML; values of Secrets are masked unless --show-secrets is set
e              the Events about it, fetched from the server
y              copy its name to the clipboard of the terminal (OSC 52)
/              show only rows with these words; !word: only rows without it
/where EXPR    show only objects for which a CEL expression holds, as with
               --where, for example: where object.spec.nodeName == 'a';
               or a word: ready, unready, failed, restarted, evicted
/who:NAME      show only objects that a field manager with this name changed,
               also before the start; enter then shows only its changes
esc            clear the filter, or go back
s              sort: not ready first, name, newest first, last changed first
p              pause: freeze the table; it counts the events until you resume
l              messages about the watch: lost connections, gaps, denied access
?              this help
q, ctrl+c      quit; ctrl+z suspends, fg resumes

# In a recording (--from)
← →            previous change, next change; noise is skipped
[ ]            a minute back, a minute forward
f F            next failure, previous failure
               the top line shows the time, and whether the state at that time
               is known; if not, the line above the keys shows the reason

# Retained history
Up to 100 states of each object since the start, and 64 MB for all objects
(compressed). Beyond that, states are dropped, and the changes show where. The
changes of a deleted object are dropped with its row, after 8 seconds. Of a
recording, 256 MB are retained, including deleted objects.
`

const helpTitle = "help"

func (d *details) help(back *pager) *pager {
	return &pager{canvas: d.canvas, title: helpTitle, back: back, text: func(int) []string {
		lines := strings.Split(strings.Trim(helpText, "\n"), "\n")
		for i, line := range lines {
			if title, ok := strings.CutPrefix(line, "# "); ok {
				lines[i] = d.paint(heading, title)
			}
		}
		return lines
	}}
}
