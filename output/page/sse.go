package page

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// stream is a viewer that gets server-sent events.
type stream struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	id       string
	patience time.Duration
}

func (s *stream) send(_ context.Context, kind string, seq uint64, message []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
		return err
	}
	switch {
	case kind == "ping":
		fmt.Fprint(s.w, ": ping\n\n")
		return s.control.Flush()
	case seq > 0:
		fmt.Fprintf(s.w, "id: %s:%d\n", s.id, seq)
	}
	// A message is one line: JSON has no line breaks.
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, message); err != nil {
		return err
	}
	return s.control.Flush()
}

// events serves a viewer by server-sent events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	from := position{}
	if id, seq, ok := strings.Cut(r.Header.Get("Last-Event-ID"), ":"); ok {
		if n, err := strconv.ParseUint(seq, 10, 64); err == nil {
			from = position{stream: id, seq: n}
		}
	}
	from.norows = r.URL.Query().Get("snapshot") == "false"
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would wait for more before it passes it on
	w.WriteHeader(http.StatusOK)
	to := &stream{w, http.NewResponseController(w), s.hub.stream, s.patience}
	_ = s.hub.view(r.Context(), to, from, nil) // it has ended, whatever the reason
}
