package live

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

type (
	// changedMsg says that something in the store has changed.
	changedMsg struct{}
	// tickMsg says that time has passed.
	tickMsg struct{}
)

// model is what the screen is about besides the store. Only the program's goroutine
// looks at it.
type model struct {
	*store
	painter
	measure
	ctx           context.Context
	width, height int
	now           func() time.Time

	// frozen is the table as it was when the user paused it, and frozenAt when that
	// was; nil: it goes on.
	frozen       *table
	frozenAt     time.Time
	frozenEvents int

	cursor cursor
	pager  *pager // nil: the table is shown
	// typed is the filter that is being typed; nil: none is.
	typed *string
	// before is the filter that was in force before.
	before filter
	// search is for the rows of the next filter, and searchedPart how much of it is
	// done, in percent; nil: the filter is in force.
	search       *search
	searchedPart int
	said         said
	// stopping: the process stops itself, or has done so. Others may look at it, too.
	stopping atomic.Bool

	frame string // drawn last
	dirty bool
}

// said is an answer to a key.
type said struct {
	text string
	at   time.Time
}

// saidFor is how long it is shown.
const saidFor = 4 * time.Second

// cursor is which row is selected.
type cursor struct {
	resource schema.GroupResource
	object   object
	// holds: it was chosen. Else it is the first row, whichever that is.
	holds bool
	// row is its number among all, and line where it stands on the screen.
	row, line int
}

func newModel(ctx context.Context, s *store) *model {
	return &model{store: s, painter: painter{s.Color}, measure: measure{ansi.WcWidth}, ctx: ctx, now: time.Now, dirty: true}
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return m.tick(false) }

// tick wakes the model when something changes by itself: an age, each second; what
// fades, more often.
func (m *model) tick(young bool) tea.Cmd {
	const step = 500 * time.Millisecond
	every := time.Second
	if young {
		every = step
	}
	now := m.now()
	return tea.Tick(now.Truncate(every).Add(every).Sub(now), func(time.Time) tea.Msg { return tickMsg{} })
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dirty = true
	switch msg := msg.(type) {
	case tickMsg:
		return m, m.tick(m.table.grow(m.now()))
	case changedMsg:
		m.dirty = m.frozen == nil || m.pager != nil
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && msg.Value != ansi.ModeNotRecognized && msg.Value != ansi.ModePermanentlyReset {
			m.measure = measure{ansi.GraphemeWidth} // as bubbletea does
		}
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.typed != nil {
			return m, m.typeFilter(*m.typed + strings.Join(strings.Fields(msg.Content), " ")) // lines, too
		}
	case tea.MouseWheelMsg:
		m.wheel(msg.Button)
	case tea.MouseClickMsg:
		m.click(msg.Y)
	case searchedMsg:
		return m, m.searched(msg.search)
	case eventsMsg:
		msg.pager.lines = nil
		msg.pager.text = func(width int) []string { return m.eventLines(msg, width) }
	}
	return m, nil
}

// shownTable is what is on the screen.
func (m *model) shownTable() *table {
	if m.frozen != nil {
		return m.frozen
	}
	return m.table
}

// clock is the time for which the table is drawn.
func (m *model) clock() time.Time {
	if m.frozen != nil {
		return m.frozenAt
	}
	return m.now()
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
	v.Cursor = m.caret()
	return v
}

// say shows an answer to a key.
func (m *model) say(text string) { m.said = said{text, m.now()} }
