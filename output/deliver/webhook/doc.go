// Package webhook delivers messages over HTTP, as CloudEvents 1.0 or as logs of OpenTelemetry.
//
// A [Receiver] sends each message in one request, in the binary or structured mode of the CloudEvents HTTP binding or by OTLP. A
// message is delivered after a 2xx response, unless its body reports a failure. The body is only read for OTLP and for the receivers
// in [Services]. Redirects are not followed, so that messages and credentials only go to the address in --to.
//
// Credentials come from files, which are read again when they change, or from the environment. Errors contain no credentials, and
// neither the path nor the query of the address, which may contain a token.
package webhook
