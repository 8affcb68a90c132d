// Package otel tests dwatch send --to otlp+https:// with the OTLP receiver of an OpenTelemetry collector: it compares
// the records that the receiver's consumer gets with the sent ones. It is a separate module, so that dwatch does not
// depend on a collector.
package otel
