package cli

import (
	"fmt"

	"dwatch/cli/fail"
	"dwatch/cli/metrics"
	"dwatch/cli/report"
)

// startListening answers how the run is from now on, if that is asked for. That it can't
// is wrong usage.
func (j *job) startListening() (*metrics.Server, error) {
	if j.listen == "" {
		return nil, nil
	}
	j.metrics = metrics.New(metrics.Options{Version: orDevel(release), Heartbeat: j.heartbeat})
	server, err := metrics.Listen(j.listen, j.metrics)
	if err != nil {
		return nil, fail.Usage(fmt.Errorf("--listen %s: %w", j.listen, err))
	}
	report.Line(j.reports, "listening on "+server.URL())
	return server, nil
}
