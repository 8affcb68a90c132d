// Package otlp writes a message as a log record of OpenTelemetry, for receivers that take OTLP over HTTP
// (https://opentelemetry.io/docs/specs/otlp/): the attributes are called as those of the collector's
// k8sobjects receiver, so that what was made for that works on.
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

// ContentType is that of what is sent and of what comes back: Protobuf, which every receiver has to take.
const ContentType = "application/x-protobuf"

// Path is where a receiver takes logs, if its address has no path.
const LogsPath = "/v1/logs"

// Encode returns the request for one message, of the cluster that source stands for unless the message
// knows its own. On the wire it is an ExportLogsServiceRequest, whose Go type would need all of gRPC;
// LogsData has the same fields.
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
			"log.record.uid", m.ID, // by which one that came twice is known
		),
	}
	if m.Source != "" {
		source = m.Source
	}
	uid, _ := strings.CutPrefix(source, "urn:uuid:")
	if uid == source {
		uid = "" // it is an address
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

// attributes are names and values in turns, but for those without a value.
func attributes(pairs ...string) (all []*common.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all = append(all, &common.KeyValue{Key: pairs[i], Value: text(pairs[i+1])})
		}
	}
	return all
}

// text is a string; Protobuf takes valid UTF-8 alone.
func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(s)}}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// body is an event as a map, if it is JSON; else as the text that it is.
func body(b []byte) *common.AnyValue {
	if trimmed := strings.TrimSpace(string(b)); strings.HasPrefix(trimmed, "{") && gjson.Valid(trimmed) {
		return value(gjson.Parse(trimmed), 0)
	}
	return text(strings.TrimSuffix(string(b), "\n"))
}

// deepest is how deep a value is a map or a list; what is deeper is its JSON. Each is three messages on
// the wire, of which some readers take a hundred in each other.
const deepest = 30

// value is JSON as OpenTelemetry has it. An integer of more than 64 bits, and what is no float, is its text.
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
	if err != nil || !strings.ContainsAny(raw, ".eE") { // it has more digits than either
		return text(raw)
	}
	return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: f}}
}

// longestReason is how much of what a receiver says is repeated.
const longestReason = 200

// Check returns an error if an answer of success says that the record was rejected, which is not to
// be sent again: an ExportLogsServiceResponse, or the same as JSON. An empty answer says nothing.
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

// partial reads an ExportLogsServiceResponse, whose field 1 is an ExportLogsPartialSuccess: how many
// records were rejected (1), and why (2).
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

// fields calls take with each field of a message, up to what is none: a number, or bytes.
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
