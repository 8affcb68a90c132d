// Package page serves a page in which people see what is watched, and what changes.
// docs/page.md has the protocol.
//
//	events -> Hub: rows of objects, the last messages -> viewers -> WebSocket, SSE
//	                                                  -> /api
//
// [Hub] is an event.Sink. What it costs the stream is to look at each event once,
// whoever views: a message is encoded once, and held in one log (log.go), in which each
// viewer is a place. A viewer that is too slow for it gets all rows anew. Nothing that
// the stream does waits for a viewer.
//
// Values that are to be masked are masked before anything is held (look.go), so that no
// way leads to them.
package page
