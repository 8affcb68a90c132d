// Package page serves a page in which people see what is watched, and what changes.
// docs/page.md has the protocol.
//
//	events -> Hub -> inventory -> drawings, the last messages -> viewers -> WebSocket
//	                                                          -> /api
//
// [Hub] is an event.Sink around an [inventory.Inventory], which holds the objects; what viewers see
// of one is its drawing. What it costs the stream is to look at each event once, whoever views: a
// message is encoded once, and held in one log (log.go), in which each viewer is a place. A viewer
// that is too slow for it gets all rows anew. Nothing that the stream does waits for a viewer.
//
// What is to be masked is masked by the inventory in all that is read of an object.
package page
