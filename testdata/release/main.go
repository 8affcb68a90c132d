// Command release makes the parts of a release that GoReleaser does not:
//
//	release manual DIR            man pages and completions    manual.go
//	release sbom BINARY FILE      modules in a binary           sbom.go
//	release image DIST [DIR]      the container image          image.go
//	release chart DIR VERSION     the chart for Helm           chart.go
//
// make release runs it. It is a separate module, so that dwatch does not depend on its dependencies. Its output does not depend
// on when and where it runs.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

const usage = "usage: release manual DIR | sbom BINARY FILE | image DIST | chart DIR VERSION"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	when, err := epoch()
	if err != nil {
		return err
	}
	switch {
	case len(args) == 2 && args[0] == "manual":
		return writeManual(args[1], when)
	case len(args) == 3 && args[0] == "sbom":
		return writeSBOM(args[1], args[2], when)
	case len(args) == 2 && args[0] == "image":
		return writeImage(args[1], when)
	case len(args) == 3 && args[0] == "chart":
		return writeChart(args[1], args[2], when)
	}
	return fmt.Errorf("%q: %s", args, usage)
}

// epoch returns the time of the commit from SOURCE_DATE_EPOCH, which is the date of all files.
func epoch() (time.Time, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
