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

// Options say what is shown, and how.
type Options struct {
	// Options say how changes are shown and masked. Width and Initial are the screen's own.
	changes.Options
	// Title is what is watched, in a few words.
	Title string
	// Wide shows the columns for wide terminals however narrow this one is.
	Wide bool
	// Labels and ShowLabels are as in output.TableOptions.
	Labels     []string
	ShowLabels bool
	// ManagedFields shows them in the YAML of an object.
	ShowManagedFields bool
	// Where says of an event whether its object is shown; nil: it is.
	Where func(*event.Event) bool
	// Condition reads an expression, and returns it as several goroutines may ask it of objects.
	CompileCondition func(text string) (func(cluster string, o event.Object) bool, error)
	// Past is what is shown of a recording, in place of the present; nil: it is the present. Read has to be
	// called when all of it has been delivered.
	Recording *Recording
	// Events asks the server for the Events about an object, from a goroutine of its own.
	FetchEvents func(ctx context.Context, cluster string, o event.Object) ([]kubeevent.Event, error)
	// Clusters returns which there are, of several; nil: it is one.
	Clusters func() []event.Cluster
}

// Screen shows what is there. It is a Sink.
type Screen struct{ *store }

var _ event.Sink = (*Screen)(nil)

// New returns a Screen, which takes events and shows nothing until Run.
func New(o Options) *Screen {
	o.Title = output.EscapeLine(o.Title)
	return &Screen{newStore(o)}
}

// ErrQuit is the end that the user of a screen asked for.
var ErrQuit = errors.New("the user ended it")

// framesPerSecond is how often the screen is drawn at most.
const framesPerSecond = 30

// Run shows the screen until its user ends it ([ErrQuit]), or ctx ends. The terminal is restored.
func (s *Screen) Run(ctx context.Context, out *os.File) error {
	m := newModel(ctx, s.store)
	p := s.program(m, out)
	ended, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() { s.pump(ended, p) })
	helpers.Go(func() { m.takeBack(ended, p, out) })
	_, err := p.Run()
	stop()
	p.Kill() // it has ended: nothing is sent to it any more
	helpers.Wait()
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF):
		return ErrQuit // the terminal is closed
	case err != nil:
		return fmt.Errorf("show the table: %w", err)
	}
	return ErrQuit
}

// program returns what shows a model, on a terminal or a writer that takes its place.
func (s *Screen) program(m *model, out io.Writer, more ...tea.ProgramOption) *tea.Program {
	return tea.NewProgram(m, append([]tea.ProgramOption{
		tea.WithOutput(out), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(), tea.WithColorProfile(colorprofile.ANSI),
	}, more...)...)
}

// pump sends the program what has changed, as often as it may draw.
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
