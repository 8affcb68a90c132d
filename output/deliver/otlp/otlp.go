// Package otlp encodes messages as OpenTelemetry log records for receivers of OTLP over HTTP
// (https://opentelemetry.io/docs/specs/otlp/). Attributes have the same names as in the collector's k8sobjects receiver.
package otlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"dwatch/output/deliver"
)

// ContentType is the content type of requests and responses: Protobuf, which every receiver must support.
const ContentType = "application/x-protobuf"

// LogsPath is the path of the endpoint for logs.
const LogsPath = "/v1/logs"

// Encode returns the request body for a message: an ExportLogsServiceRequest. It uses the type LogsData, which has the same fields
// and does not depend on gRPC. source identifies the cluster if the message does not.
func Encode(m *deliver.Message, source string) ([]byte, error) {
	at := uint64(m.Time.UnixNano())
	record := &logs.LogRecord{
		TimeUnixNano:         at,
		ObservedTimeUnixNano: at,
		Body:                 body(m.Body),
		Attributes: attributes(
			"k8s.resource.name", m.Resource.Resource,
			"event.domain", "k8s",
			"event.name", m.Name,
			"log.record.uid", m.ID, // the same for each attempt
		),
	}
	if m.Source != "" {
		source = m.Source
	}
	uid, _ := strings.CutPrefix(source, "urn:uuid:")
	if uid == source {
		uid = "" // the source is an address
	}
	return proto.Marshal(&logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{
		Resource: &resource.Resource{Attributes: attributes(
			"k8s.cluster.name", m.Cluster,
			"k8s.cluster.uid", uid,
			"k8s.namespace.name", m.Namespace,
		)},
		ScopeLogs: []*logs.ScopeLogs{{
			Scope:      &common.InstrumentationScope{Name: "dwatch"},
			LogRecords: []*logs.LogRecord{record},
		}},
	}}})
}

// attributes returns attributes from alternating names and values. It omits empty values.
func attributes(pairs ...string) (all []*common.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all = append(all, &common.KeyValue{Key: pairs[i], Value: text(pairs[i+1])})
		}
	}
	return all
}

// text returns a string as valid UTF-8, which Protobuf requires.
func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(s)}}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// body returns an event as a map if it is JSON, otherwise as text.
func body(b []byte) *common.AnyValue {
	if trimmed := strings.TrimSpace(string(b)); strings.HasPrefix(trimmed, "{") && gjson.Valid(trimmed) {
		return value(gjson.Parse(trimmed), 0)
	}
	return text(strings.TrimSuffix(string(b), "\n"))
}

// deepest is the maximum nesting of maps and lists. Deeper values are JSON text. Each level takes three nested messages, and some
// readers accept only a hundred.
const deepest = 30

// value converts a JSON value. A number that is neither an int64 nor a float64 becomes text.
func value(v gjson.Result, depth int) *common.AnyValue {
	switch {
	case v.Type == gjson.Null:
		return &common.AnyValue{}
	case v.Type == gjson.String:
		return text(v.Str)
	case v.Type == gjson.Number:
		return number(v.Raw)
	case v.Type != gjson.JSON:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.Type == gjson.True}}
	case depth == deepest:
		return text(v.Raw)
	case v.IsArray():
		list := &common.ArrayValue{}
		v.ForEach(func(_, item gjson.Result) bool {
			list.Values = append(list.Values, value(item, depth+1))
			return true
		})
		return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
	}
	list := &common.KeyValueList{}
	v.ForEach(func(name, item gjson.Result) bool {
		list.Values = append(list.Values, &common.KeyValue{Key: valid(name.Str), Value: value(item, depth+1)})
		return true
	})
	return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: list}}
}

func number(raw string) *common.AnyValue {
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || !strings.ContainsAny(raw, ".eE") { // an integer of more than 64 bits, or an overflow
		return text(raw)
	}
	return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: f}}
}

// longestReason is the maximum length of a receiver's message in an error.
const longestReason = 200

// CheckResponse returns an error if the body of a 2xx response, an ExportLogsServiceResponse as Protobuf or JSON, reports that the
// record was rejected. The record must then not be sent again. An empty or invalid body means success.
func CheckResponse(contentType string, answer []byte) error {
	rejected, why := partial(answer)
	if strings.HasPrefix(contentType, "application/json") {
		var response struct {
			PartialSuccess struct {
				RejectedLogRecords json.Number `json:"rejectedLogRecords"`
				ErrorMessage       string      `json:"errorMessage"`
			} `json:"partialSuccess"`
		}
		if json.Unmarshal(answer, &response) != nil {
			return nil
		}
		n, _ := response.PartialSuccess.RejectedLogRecords.Int64()
		rejected, why = n > 0, response.PartialSuccess.ErrorMessage
	}
	switch {
	case !rejected:
		return nil
	case why == "":
		return errors.New("the receiver rejected it")
	}
	return fmt.Errorf("the receiver rejected it: %.*s", longestReason, valid(why))
}

// partial reads an ExportLogsServiceResponse. Its field 1 is an ExportLogsPartialSuccess with the number of rejected records (1)
// and the reason (2).
func partial(answer []byte) (rejected bool, why string) {
	fields(answer, func(number protowire.Number, _ uint64, inner []byte) {
		if number != 1 {
			return
		}
		fields(inner, func(number protowire.Number, count uint64, message []byte) {
			switch number {
			case 1:
				rejected = count > 0
			case 2:
				why = string(message)
			}
		})
	})
	return rejected, why
}

// fields calls take with each varint and bytes field of a message, and stops at invalid data.
func fields(message []byte, take func(number protowire.Number, value uint64, bytes []byte)) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return
		}
		message = message[tag:]
		size := protowire.ConsumeFieldValue(number, kind, message)
		if size < 0 {
			return
		}
		switch kind {
		case protowire.VarintType:
			value, _ := protowire.ConsumeVarint(message)
			take(number, value, nil)
		case protowire.BytesType:
			inner, _ := protowire.ConsumeBytes(message)
			take(number, 0, inner)
		}
		message = message[size:]
	}
}
