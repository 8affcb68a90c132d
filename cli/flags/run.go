package flags

import (
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"

	"dwatch/output"
)

// Logging holds the flags for messages on stderr.
type Logging struct {
	Quiet     bool
	Verbosity int
	// UTC shows times in UTC, and reads times without a zone as UTC.
	UTC    bool
	Format string // LogText or LogJSON
}

// The formats of messages on stderr.
const (
	LogText = "text"
	LogJSON = "json"
)

// DetectLogFormat returns the value of --log in args, for errors of arguments that can't be parsed.
func DetectLogFormat(args []string) string {
	for i, a := range args {
		if a == "--log="+LogJSON || a == LogJSON && i > 0 && args[i-1] == "--log" {
			return LogJSON
		}
	}
	return LogText
}

// AddTo also adds the flags of AddHelp.
func (m *Logging) AddTo(f *pflag.FlagSet) {
	f.BoolVarP(&m.Quiet, "quiet", "q", false, "Print only errors to stderr, and warnings about missing data and about expressions that can't be evaluated")
	describeBriefly(f, "quiet", "Print only errors and important warnings to stderr")
	f.IntVarP(&m.Verbosity, "v", "v", 0, "Print log messages of the Kubernetes client up to `LEVEL` to stderr; 6 shows each request")
	f.StringVar(&m.Format, "log", LogText, "Write messages to stderr in this `FORMAT`: text, or json, with one object per line")
	describeBriefly(f, "log", "Write messages to stderr as `FORMAT`: text or json")
	offers(f, "log", LogText, LogJSON)
	takes(f, "log", func(text string) error {
		if text != LogText && text != LogJSON {
			return fmt.Errorf("invalid --log %q: it takes text or json", output.EscapeLine(text))
		}
		return nil
	})
	f.BoolVar(&m.UTC, "utc", false, "Show times in UTC, and read times in flags such as --since as UTC if they have no zone")
	AddHelp(f)
}

// HelpAll is the name of the flag for help with all flags.
const HelpAll = "help-all"

// AddHelp adds --help and --help-all. Otherwise cobra would add a --help of its own, which would be in no group.
func AddHelp(f *pflag.FlagSet) {
	var all bool
	f.BoolP("help", "h", false, "Print help with the main flags, and exit")
	f.BoolVar(&all, HelpAll, false, "Print help with all flags, and exit")
	takes(f, HelpAll, func(string) error {
		if !all {
			return nil
		}
		return f.Set("help", "true") // cobra prints help only for the flag of this name
	})
}

// minVerify limits the load of lists on the server.
const minVerify = 10 * time.Second

// Verify adds --verify, the interval between comparisons with fresh lists. Zero means never.
func Verify(every *time.Duration) Adder {
	return func(f *pflag.FlagSet) {
		f.DurationVar(every, "verify", 0, "Every `DURATION`, e.g. 1h, compare the known objects with a fresh list from the server, and log missed changes and count them in the metrics of --listen")
		takes(f, "verify", func(text string) error {
			if *every < minVerify {
				return fmt.Errorf("invalid --verify %s: it takes a duration of at least %s", text, minVerify)
			}
			return nil
		})
	}
}

// Listen adds --listen, the HOST:PORT for metrics and health checks. If *to is empty, there are none.
func Listen(to *string) Adder {
	return func(f *pflag.FlagSet) {
		f.StringVar(to, "listen", "", "Serve /metrics for Prometheus, /healthz and /readyz over HTTP on `ADDR`, such as :9090")
		describeBriefly(f, "listen", "Serve metrics and health checks on `ADDR`, e.g. :9090")
		offers(f, "listen", ":9090", "127.0.0.1:9090")
		takes(f, "listen", func(text string) error {
			if _, port, err := net.SplitHostPort(text); err != nil || port == "" {
				return fmt.Errorf("invalid --listen %q: it takes HOST:PORT, such as 127.0.0.1:9090, or :9090 for all interfaces", output.EscapeLine(text))
			}
			return nil
		})
		notEmpty(f, "listen")
	}
}
