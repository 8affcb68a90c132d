// Package page serves a web page that shows the watched objects and their changes. docs/reference/page-api.md describes
// its protocol.
//
//	events -> Hub -> inventory -> row views, log -> viewers -> WebSocket
//	                                             -> /api
//
// [Hub] is an event.Sink. Its [inventory.Inventory] retains the objects, and each object has a rowView, the row that
// viewers see. The Hub processes each event once, however many viewers there are: it encodes a message once and appends it
// to one log, in which each viewer has a position. A viewer that is too slow for the log gets a new snapshot of all rows.
// Delivery of events never waits for a viewer.
//
// The inventory masks values before this package reads them.
package page
