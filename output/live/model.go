package live

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"dwatch/output"
	"dwatch/output/text"
)

type (
	changedMsg struct{} // the store has changed
	tickMsg    struct{} // time has passed
)

// model is the bubbletea model of the screen. Only the goroutine of the tea.Program uses it.
type model struct {
	*canvas
	*store
	view        *view
	problems    *problems
	finder      *filterInput
	status      *statusLine
	details     *details
	timeControl *timeControl
	pager       *pager // nil while the table is shown
	suspension

	frame string // last drawn frame
	dirty bool
}

func newModel(ctx context.Context, s *store) *model {
	c := &canvas{Method: ansi.WcWidth, color: s.Color, now: time.Now, between: 1}
	v := &view{canvas: c, store: s, clusters: newClusters(c, s)}
	m := &model{
		canvas: c, store: s, view: v, finder: &filterInput{canvas: c, view: v},
		problems: &problems{canvas: c, view: v}, status: &statusLine{canvas: c, store: s}, details: &details{c, s, ctx}, dirty: true,
	}
	if s.timeView != nil {
		m.timeControl = &timeControl{view: v, status: m.status, details: m.details}
		s.mu.Lock() // the recording may be being read already
		defer s.mu.Unlock()
		m.timeControl.show()
	}
	return m
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return m.tick(false) }

// tick wakes the model so that ages advance, once a second, and twice a second while rows fade.
func (m *model) tick(young bool) tea.Cmd {
	every := time.Second
	if young {
		every /= 2
	}
	now := m.now()
	return tea.Tick(now.Truncate(every).Add(every).Sub(now), func(time.Time) tea.Msg { return tickMsg{} })
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wasDirty := m.dirty
	m.dirty = true
	switch msg := msg.(type) {
	case tickMsg:
		m.timeControl.refresh(false)
		m.refresh(m.now())
		return m, m.tick(m.table.age(m.now()))
	case changedMsg:
		m.dirty = wasDirty || m.view.paused == nil || m.pager != nil || m.timeControl.refresh(true)
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && msg.Value != ansi.ModeNotRecognized && msg.Value != ansi.ModePermanentlyReset {
			m.Method = ansi.GraphemeWidth // as bubbletea does
		}
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.finder.typed != nil {
			return m, m.finder.edit(*m.finder.typed + strings.Join(strings.Fields(msg.Content), " ")) // on one line
		}
	case tea.MouseWheelMsg:
		m.wheel(msg.Button)
	case tea.MouseClickMsg:
		if m.pager == nil {
			m.view.click(msg.Y)
		}
	case *search:
		return m, m.finder.continueSearch(msg)
	case eventsMsg:
		m.details.showEvents(msg)
	}
	return m, nil
}

func (m *model) press(key tea.KeyPressMsg) tea.Cmd {
	pressed := key.String()
	if letter, is := strings.CutPrefix(pressed, "alt+"); is && len(letter) == 1 {
		// Terminals send this for Escape followed quickly by a letter.
		return tea.Batch(m.press(tea.KeyPressMsg{Code: tea.KeyEscape}), m.press(tea.KeyPressMsg{Code: key.Code, Text: letter}))
	}
	switch {
	case pressed == "ctrl+c":
		return tea.Quit
	case pressed == "ctrl+z":
		return m.suspend()
	case m.finder.typed != nil:
		cmd, err := m.finder.press(key)
		if err != nil {
			m.status.say(output.EscapeLine(err.Error()))
		}
		return cmd
	case m.pager != nil:
		return m.pressInPager(pressed)
	case m.view.press(pressed), m.timeControl.press(pressed):
		return nil
	}
	return m.pressInTable(pressed)
}

func (m *model) pressInTable(key string) tea.Cmd {
	switch key {
	case "q":
		return tea.Quit
	case "/":
		m.finder.begin()
	case "esc":
		m.finder.cancel()
	case "s":
		m.status.say("sorted: " + m.view.sort())
	case "p":
		m.view.pause()
	case "?":
		m.pager = m.details.help(nil)
	case "l":
		m.pager = m.details.log()
	default:
		if s, r := m.view.selected(); r != nil {
			return m.pressAbout(key, s, r)
		}
	}
	return nil
}

func (m *model) pressInPager(key string) tea.Cmd {
	p := m.pager
	switch key {
	case "esc", "q", "backspace":
		m.pager = p.back
	case "?":
		if p.title != helpTitle {
			m.pager = m.details.help(p)
		}
	case "enter", "d", "e", "y":
		if p.row != nil {
			return m.pressAbout(key, p.section, p.present())
		}
	default:
		p.press(key)
	}
	return nil
}

func (m *model) pressAbout(key string, s *section, r *row) (cmd tea.Cmd) {
	switch key {
	case "enter":
		m.pager = m.details.changes(s, r, m.view.shown().filter.managers)
	case "d":
		m.pager = m.details.yaml(s, r)
	case "e":
		m.pager, cmd = m.details.events(s, r)
	case "y":
		name := output.EscapeLine(r.Entry.Name) // some resources allow line feeds and control characters, which a shell would run
		m.status.say("copied " + name + ", if the terminal allows that (OSC 52)")
		cmd = tea.SetClipboard(name)
	}
	return cmd
}

const wheelStep = 3 // lines

func (m *model) wheel(button tea.MouseButton) {
	by := map[tea.MouseButton]int{tea.MouseWheelUp: -wheelStep, tea.MouseWheelDown: wheelStep}[button]
	switch {
	case by == 0: // horizontal
	case m.pager != nil:
		m.pager.scroll(by)
	default:
		m.view.scroll(by)
	}
}

// View implements tea.Model.
func (m *model) View() tea.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dirty && m.width > 0 && m.height > 0 {
		m.frame, m.dirty = m.draw(), false
	}
	v := tea.NewView(m.frame)
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.Cursor = m.finder.caret()
	return v
}

func (m *model) draw() string {
	var top, message, bottom string
	var body []string
	between := []string{""}
	if m.pager == nil && m.height >= roomyHeight {
		between = append(m.view.clusters.lines(), m.problems.lines()...)
	}
	m.between = len(between)
	if p := m.pager; p != nil {
		top, body = m.status.top(p.heading(m.view.clock()), m.middle, ""), p.visibleLines()
		message, bottom = m.status.message("", ""), p.keys()
	} else {
		top, body = m.status.top(m.Title, m.cutTitle, m.status.counts(m.view.shown())), m.view.lines()
		message, bottom = m.status.message(m.view.describeSelected(), m.view.position()), m.tableKeys()
	}
	if m.finder.typed != nil {
		bottom = m.finder.prompt()
	}
	lines := append(make([]string, 0, m.height), top)
	if m.height >= roomyHeight {
		lines = append(lines, between...)
	}
	lines = append(lines, body...)
	for len(lines) < m.height-linesBelow {
		lines = append(lines, "")
	}
	lines = append(lines[:max(m.height-linesBelow, 0)], message, bottom)
	lines = lines[max(len(lines)-m.height, 0):]
	for i, line := range lines {
		if m.StringWidth(line) > m.width { // the screen is very small
			lines[i] = m.Truncate(line, m.width, "")
		}
	}
	return strings.Join(lines, "\n")
}

// keysBehind returns a line of keys after the text left.
func (c *canvas) keysBehind(left string, keys []string) string {
	return c.Truncate(left+c.keyLine(keys, c.width-c.StringWidth(left)), c.width, ellipsis)
}

// tableKeys returns the last line of the frame while the table is shown.
func (m *model) tableKeys() string {
	left := ""
	if m.timeControl != nil {
		return m.timeControl.keys(left + m.finder.describe())
	}
	if paused := m.view.paused; paused != nil {
		left = m.paint(alarm, " PAUSED") + m.paint(faint, " "+text.Count(m.events-paused.events, "event")+" since, p resumes ")
	}
	left += m.finder.describe()
	keys := []string{"↵ changes", "d yaml", "e events", "/ filter", "s sort", "p pause", "y copy", "? help", "q quit"}
	return m.keysBehind(left, keys)
}
