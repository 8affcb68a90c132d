// Package webhook delivers messages over HTTP, as CloudEvents 1.0 or as logs of OpenTelemetry.
//
// A [Webhook] is a Receiver: it sends a message in one request, in the binary or the
// structured mode of the CloudEvents HTTP binding or by OTLP, and says what the answer means. Any
// 2xx is delivered, unless it says in OTLP that the record was rejected. It follows no redirect, so that what it sends, and its credentials,
// go where --to says and nowhere else.
//
// Credentials come from files, which are read again when they change, or from the
// environment. No error has one of them in it, and none has the path or the query of the
// address, which may hold a token, too.
package webhook
