package cli

import (
	"fmt"

	"dwatch/cli/fail"
	"dwatch/cli/metrics"
)

// startListening answers how the run is from now on, if that is asked for. That it can't
// is wrong usage.
func (w *watching) startListening(c *console) (*metrics.Server, error) {
	if w.listen == "" {
		return nil, nil
	}
	w.metrics = metrics.New(metrics.Options{Version: orDevel(release), Heartbeat: w.heartbeat})
	server, err := metrics.Listen(w.listen, w.metrics)
	if err != nil {
		return nil, fail.Usage(fmt.Errorf("--listen %s: %w", w.listen, err))
	}
	c.say("listening on " + server.URL())
	return server, nil
}
