package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Export holds the flags about the file that dwatch export writes.
type Export struct {
	Path     string // "-" means stdout
	Force    bool   // overwrite an existing file
	Complete bool   // gaps in the recording are an error
	MaxSize  int    // bytes
}

// minExport has room for the page and little data. maxExport is what browsers can open.
const minExport, maxExport = 1e6, 500e6

func (e *Export) AddTo(f *pflag.FlagSet) {
	e.MaxSize = 20e6
	f.String("max-size", "20M", "Leave out the oldest data if the file would be larger than `SIZE`; the file describes the omitted data")
	offers(f, "max-size", "5M", "20M", "50M")
	takes(f, "max-size", func(text string) error {
		size, ok := parseSize(text, minExport, maxExport)
		if !ok {
			return invalid("max-size", text, errors.New("it takes a number of bytes from 1M to 500M, such as 20M"))
		}
		e.MaxSize = int(size)
		return nil
	})
	f.BoolVar(&e.Force, "force", false, "Overwrite the file if it exists")
	f.BoolVar(&e.Complete, "complete", false, "Exit with code 4 if the recording has gaps in what the file shows; without it, gaps are a warning")
	notEmpty(f, "max-size")
}

// ErrExportUsage shows how to use dwatch export.
var ErrExportUsage = errors.New("dwatch export takes the file to write, and optionally resources of the recording: dwatch export incident.html deploy,po --from DIR")

// ParseArgs sets Path from the first argument and returns the others.
func (e *Export) ParseArgs(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, ErrExportUsage
	}
	e.Path = args[0]
	if lower := strings.ToLower(e.Path); e.Path != "-" && !strings.HasSuffix(lower, ".html") && !strings.HasSuffix(lower, ".htm") {
		return nil, fmt.Errorf("%q does not end in .html: %w", e.Path, ErrExportUsage)
	}
	return args[1:], nil
}
