package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

const (
	// patience is the timeout for writing a message to a viewer.
	patience = 30 * time.Second
	// maxFrame is the maximum size in bytes of a message from a viewer.
	maxFrame = 16 << 10
	// minCompressed is the minimum size in bytes of a compressed message. Snapshot parts shrink to about a tenth. Change
	// messages are smaller: compressing each one for each viewer would take too much time.
	minCompressed = 16 << 10
)

// socket is a transport over a WebSocket.
type socket struct {
	conn *websocket.Conn
	// ctx ends with the server. If a write used the context of the view, its end would close the connection before the
	// viewer gets the reason.
	ctx      context.Context
	patience time.Duration
}

func (s socket) send(_ context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, message)
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	at, err := s.timeOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // guard has checked the Origin
		// No context takeover: that would retain a compression window for each viewer.
		CompressionMode:      websocket.CompressionNoContextTakeover,
		CompressionThreshold: minCompressed,
	})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxFrame)
	defer context.AfterFunc(s.ctx, func() { conn.CloseNow() })()
	ctx, cancel := context.WithCancelCause(r.Context())
	questions := make(chan *question)
	read := make(chan struct{})
	go func() {
		defer close(read)
		cancel(listen(ctx, conn, questions))
	}()
	to := socket{conn, s.ctx, s.patience}
	hub, leave, err := s.awaitHub(ctx, at, to)
	if err == nil {
		defer leave()
		err = hub.view(ctx, to, since(r), questions)
	}
	var mistake mistakeError
	switch {
	case errors.Is(err, errBye):
		conn.Close(websocket.StatusGoingAway, "the run has ended")
	case errors.As(context.Cause(ctx), &mistake):
		conn.Close(websocket.StatusPolicyViolation, string(mistake))
	default:
		conn.CloseNow()
	}
	cancel(nil)
	<-read
}

type mistakeError string

func (e mistakeError) Error() string { return string(e) }

// listen reads questions from a viewer until the connection ends, or until a message is invalid. It then returns a
// mistakeError.
func listen(ctx context.Context, conn *websocket.Conn, questions chan<- *question) error {
	for {
		kind, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var m struct {
			Type string `json:"type"`
			ID   int64  `json:"id"`
			Expr string `json:"expr"`
		}
		if kind != websocket.MessageText || json.Unmarshal(text, &m) != nil || m.Type != "where" {
			return mistakeError("it takes text messages of type where")
		}
		select {
		case questions <- &question{id: m.ID, text: m.Expr}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// since returns the position from which a viewer wants to resume, or a zero position.
func since(r *http.Request) position {
	query := r.URL.Query()
	seq, err := strconv.ParseUint(query.Get("since"), 10, 64)
	if err != nil {
		return position{}
	}
	return position{stream: query.Get("stream"), seq: seq}
}
