// Package otel has the OTLP receiver of an OpenTelemetry collector be the judge of dwatch send --to otlp+https://: what its consumer gets is
// compared with what was sent. It is a module of its own, so that dwatch does not depend on a collector.
package otel
