package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"dwatch/output"
	"dwatch/output/changes"
	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
)

// Options configures a Screen. Its fields are independent settings.
type Options struct {
	// Options configures how changes are shown and masked. The screen sets Width and ShowInitial itself.
	changes.Options
	// Title describes the watched resources in a few words.
	Title string
	// Wide shows the columns for wide terminals on narrow terminals, too.
	Wide bool
	// Labels and ShowLabels add label columns, as in output.TableOptions.
	Labels     []string
	ShowLabels bool
	// ShowManagedFields includes managedFields in the YAML of an object.
	ShowManagedFields bool
	// Where reports whether the object of an event is shown. nil shows all.
	Where func(*event.Event) bool
	// CompileCondition compiles an expression. The result must be safe for concurrent use.
	CompileCondition func(text string) (func(cluster string, o event.Object) bool, error)
	// Recording makes the screen show a recording instead of a live watch. The caller must call SetLoaded after all of its
	// events have been delivered. nil means a live watch.
	Recording *Recording
	// FetchEvents fetches the Events about an object from the server. It is called from a goroutine of its own.
	FetchEvents func(ctx context.Context, cluster string, o event.Object) ([]kubeevent.Event, error)
	// Clusters returns the watched clusters. nil means that there is only one.
	Clusters func() []event.Cluster
}

// Screen is a Sink that shows the objects as a table on a terminal.
type Screen struct{ *store }

var _ event.Sink = (*Screen)(nil)

// New returns a Screen. It accepts events at once and draws only during Run.
func New(o Options) *Screen {
	o.Title = output.EscapeLine(o.Title)
	return &Screen{newStore(o)}
}

// ErrQuit means that the user quit the screen.
var ErrQuit = errors.New("the user quit")

// framesPerSecond is the maximum frame rate.
const framesPerSecond = 30

// Run shows the screen on out until the user quits, which returns [ErrQuit], or ctx is done, which returns nil. It
// restores the terminal.
func (s *Screen) Run(ctx context.Context, out *os.File) error {
	m := newModel(ctx, s.store)
	p := s.program(m, out)
	ended, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() { s.pump(ended, p) })
	helpers.Go(func() { m.restoreOnContinue(ended, p, out) })
	_, err := p.Run()
	stop()
	p.Kill() // so that p.Send does not block any more
	helpers.Wait()
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF):
		return ErrQuit // the terminal was closed
	case err != nil:
		return fmt.Errorf("show the table: %w", err)
	}
	return ErrQuit
}

// program returns the tea.Program of a model. out is the terminal, or a writer in tests.
func (s *Screen) program(m *model, out io.Writer, more ...tea.ProgramOption) *tea.Program {
	return tea.NewProgram(m, append([]tea.ProgramOption{
		tea.WithOutput(out), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(), tea.WithColorProfile(colorprofile.ANSI),
	}, more...)...)
}

// pump notifies the program of changes, at most once per frame.
func (s *Screen) pump(ctx context.Context, p *tea.Program) {
	pause := time.NewTicker(time.Second / framesPerSecond)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			p.Quit()
			return
		case <-s.changed:
			p.Send(changedMsg{})
		}
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}
