package live

import "strings"

const helpText = `
# Rows
✗ ◌            has failed, is not ready (by its status); these come first, and
               STATE says why where the other columns do not
+ ~ -          was added, changed, deleted some seconds ago
               cells that changed are marked, and fade

# Keys
↑ ↓ or k j, pgup pgdn, home end or g G, wheel: move; ← → in a text
tab            to the next resource; shift+tab: to the one before
enter          what changed of the object since the start, and who did it
d              its YAML, values of Secrets masked
e              the Events about it, asked from the server now
y              copy its name to the clipboard of the terminal (OSC 52)
/              show only rows with these words; !word: those without it
/where EXPR    show only objects of which an expression in CEL holds, as with
               --where, such as: where object.spec.nodeName == 'a'; or a word:
               ready, unready, failed, restarted, evicted
/who:NAME      show only what a program with that name changed, also before the start;
               enter then shows only its changes
esc            clear the filter, go back
s              sort: not ready first, name, newest first, last changed first
p              pause: hold the table as it is; events are counted meanwhile
l              what was said about the watch: losses, gaps, missing rights
?              this
q, ctrl+c      end; ctrl+z and fg work

# In a recording (--from)
← →            to the change before, to the next; what is noise is passed over
[ ]            a minute back, a minute on
f F            to the next failure, to the one before
               the top line says the time, and whether it is known what was
               there: if not, why stands above the keys

# How much is kept
The last 100 states of each object since the start, 64 MB of all together
(packed); then the oldest are forgotten, and the changes say so. A deleted
object goes with its changes when its row does, after 8 seconds. Of a recording
256 MB are kept, of deleted objects, too.
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
