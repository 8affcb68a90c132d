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
	// patience is how long a viewer may take nothing at all.
	patience = 30 * time.Second
	// maxFrame is how many bytes a message of a viewer may have.
	maxFrame = 16 << 10
	// minCompressed is how many bytes a message has that is compressed: parts of a snapshot, which
	// shrink to a tenth, and no changes, as that would be work for each viewer and change.
	minCompressed = 16 << 10
)

// socket is a viewer behind a WebSocket.
type socket struct {
	conn *websocket.Conn
	// ctx ends with the server: that of a view may end while something is written, and the
	// connection with it, before it could be said why.
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
		InsecureSkipVerify: true, // of the Origin, which guard has checked
		// Each message by itself: otherwise each viewer would hold what it takes to compress.
		CompressionMode:      websocket.CompressionNoContextTakeover,
		CompressionThreshold: minCompressed,
	})
	if err != nil {
		return // the answer is given
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

// listen reads what a viewer says, until that makes no sense or the connection ends.
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

func since(r *http.Request) position {
	query := r.URL.Query()
	seq, err := strconv.ParseUint(query.Get("since"), 10, 64)
	if err != nil {
		return position{}
	}
	return position{stream: query.Get("stream"), seq: seq}
}
