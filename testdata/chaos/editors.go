package main

import (
	"bytes"
	"io"
	"strings"
	"time"
)

// cutNow breaks the connection.
func cutNow() editor {
	return func(*body, []byte) ([]byte, error) { return nil, errCut }
}

// endNow ends a watch regularly, as the server does after its timeout.
func endNow() editor {
	return func(*body, []byte) ([]byte, error) { return nil, io.EOF }
}

// cutInEvent breaks the connection in the middle of the next event.
func cutInEvent() editor {
	return onNext(func(frame []byte) ([]byte, error) { return frame[:len(frame)/2], errCut })
}

// sayGone ends a watch with an ERROR event of code 410.
func sayGone() editor {
	return func(*body, []byte) ([]byte, error) { return []byte(goneEvent), io.EOF }
}

// truncate replaces the next event by its first half and a line break.
func truncate() editor {
	return once(func(frame []byte) []byte { return append(frame[:len(frame)/2:len(frame)/2], '\n') })
}

// garble replaces the next event by text. The events after it show whether the client recovers the replaced event. A
// client accepts a bookmark, however, and could not know that it replaced an event. Therefore nothing follows a bookmark
// until the connection ends.
func garble(text string) func() editor {
	return func() editor {
		next := once(func([]byte) []byte { return []byte(text) })
		if !strings.Contains(text, "BOOKMARK") {
			return next
		}
		rest, sent := stall(nil)(), false
		return func(b *body, frame []byte) ([]byte, error) {
			if sent {
				return rest(b, frame)
			}
			sent = frame != nil
			return next(b, frame)
		}
	}
}

// garbage lists lines that a server never sends in a watch.
var garbage = []string{
	"<html>\n", "null\n", "{}\n", "[]\n", "\"text\"\n", "\x00\xff\xfe\n", "{\n",
	`{"type":"ADDED"}` + "\n",
	`{"type":"ADDED","object":null}` + "\n",
	`{"type":"ADDED","object":{}}` + "\n",
	`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1"}}` + "\n",
	`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}}` + "\n",
	`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}}` + "\n",
	`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":""}}}` + "\n",
	`{"type":"UNHEARD-OF","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}}` + "\n",
	`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1"}}` + "\n",
	`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","code":500}` + "\n",
}

// oversize adds 17 MiB to the next event, which is more than any client accepts.
func oversize() editor {
	return once(func(frame []byte) []byte {
		const at = `"object":{`
		return bytes.Replace(frame, []byte(at), []byte(at+`"fat":"`+strings.Repeat("x", 17<<20)+`",`), 1)
	})
}

// repeat sends every event twice.
func repeat() editor {
	return func(_ *body, frame []byte) ([]byte, error) { return bytes.Repeat(frame, 2), nil }
}

// withhold leaves out the bookmark that ends the initial events.
func withhold() editor {
	return func(_ *body, frame []byte) ([]byte, error) {
		if bytes.Contains(frame, []byte("k8s.io/initial-events-end")) {
			return nil, nil
		}
		return frame, nil
	}
}

// endAfter ends a watch regularly after n events. cutAfter breaks its connection instead.
func endAfter(n int) func() editor { return stopAfter(n, io.EOF) }
func cutAfter(n int) func() editor { return stopAfter(n, errCut) }

func stopAfter(n int, err error) func() editor {
	return func() editor {
		seen := 0
		return func(_ *body, frame []byte) ([]byte, error) {
			if frame != nil {
				seen++
			}
			if seen >= n {
				return frame, err
			}
			return frame, nil
		}
	}
}

// halve cuts a list in the middle.
func halve() editor {
	return onNext(func(frame []byte) ([]byte, error) { return frame[:len(frame)/2], errCut })
}

// hold delays the body until over is closed.
func hold(over <-chan struct{}) func() editor {
	return func() editor {
		return func(b *body, frame []byte) ([]byte, error) {
			select {
			case <-over:
				return frame, nil
			case <-b.ctx.Done():
				return nil, errCut
			}
		}
	}
}

// stall sends nothing until over is closed, and then breaks the connection. If over is nil, it waits until the client
// disconnects.
func stall(over <-chan struct{}) func() editor {
	return func() editor {
		return func(b *body, frame []byte) ([]byte, error) {
			select {
			case <-over:
			case <-b.ctx.Done():
			}
			return nil, errCut
		}
	}
}

// trickle sends single bytes with a short wait before each.
func trickle() editor {
	return func(b *body, frame []byte) ([]byte, error) {
		b.pace = time.Millisecond / 4
		return frame, nil
	}
}

// onNext calls do with each frame, but not when it should act at once.
func onNext(do func([]byte) ([]byte, error)) editor {
	return func(_ *body, frame []byte) ([]byte, error) {
		if frame == nil {
			return nil, nil
		}
		return do(frame)
	}
}

// once changes only the next frame.
func once(change func([]byte) []byte) editor {
	done := false
	return onNext(func(frame []byte) ([]byte, error) {
		if done {
			return frame, nil
		}
		done = true
		return change(frame), nil
	})
}
