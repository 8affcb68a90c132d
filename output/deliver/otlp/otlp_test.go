package otlp

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

func message(body string) *deliver.Message {
	return &deliver.Message{
		ID:       "uid-1/7/MODIFIED",
		Type:     event.Modified,
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Identity: event.Identity{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web", UID: "uid-1", ResourceVersion: "7"},
		Time:     time.Date(2026, 1, 31, 9, 0, 0, 250e6, time.UTC),
		Body:     []byte(body + "\n"),
	}
}

// plain converts a value to Go types.
func plain(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_KvlistValue:
		return pairs(v.KvlistValue.Values)
	case *common.AnyValue_ArrayValue:
		list := []any{}
		for _, item := range v.ArrayValue.Values {
			list = append(list, plain(item))
		}
		return list
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	}
	return nil
}

// pairs converts attributes to a map.
func pairs(all []*common.KeyValue) map[string]any {
	m := map[string]any{}
	for _, pair := range all {
		m[pair.Key] = plain(pair.Value)
	}
	return m
}

// encoded returns the only record of an encoded request, and the attributes of its resource.
func encoded(t *testing.T, m *deliver.Message, source string) (*logs.LogRecord, map[string]any) {
	t.Helper()
	text, err := Encode(m, source)
	if err != nil {
		t.Fatal(err)
	}
	var data logs.LogsData
	if err := proto.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	if len(data.ResourceLogs) != 1 || len(data.ResourceLogs[0].ScopeLogs) != 1 || len(data.ResourceLogs[0].ScopeLogs[0].LogRecords) != 1 {
		t.Fatalf("got %v, want one record", &data)
	}
	one := data.ResourceLogs[0]
	return one.ScopeLogs[0].LogRecords[0], pairs(one.Resource.Attributes)
}

// TestEncode checks that a record has the attributes of the collector's k8sobjects receiver, and the event as its body.
func TestEncode(t *testing.T) {
	m := message(`{"type":"MODIFIED","object":{"a":[1,2.5,true,null,"x",{}],"big":123456789012345678901234567890,"s":"\u00e4"}}`)
	record, resource := encoded(t, m, "urn:uuid:5b1f6a0e-0000-4000-8000-000000000000")
	got := map[string]any{
		"time": record.TimeUnixNano, "observed": record.ObservedTimeUnixNano,
		"attributes": pairs(record.Attributes), "resource": resource, "body": plain(record.Body),
	}
	want := map[string]any{
		"time": uint64(m.Time.UnixNano()), "observed": uint64(m.Time.UnixNano()),
		"attributes": map[string]any{
			"k8s.resource.name": "deployments", "event.domain": "k8s", "event.name": "web", "log.record.uid": "uid-1/7/MODIFIED",
		},
		"resource": map[string]any{"k8s.namespace.name": "default", "k8s.cluster.uid": "5b1f6a0e-0000-4000-8000-000000000000"},
		"body": map[string]any{
			"type": "MODIFIED",
			"object": map[string]any{
				"a":   []any{int64(1), 2.5, true, nil, "x", map[string]any{}},
				"big": "123456789012345678901234567890", "s": "ä",
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEncodeCluster checks that a message with a cluster and a source of its own uses these instead of the Receiver's source.
func TestEncodeCluster(t *testing.T) {
	m := message(`{"type":"MODIFIED"}`)
	m.Cluster, m.Source, m.Namespace = "prod-eu", "https://10.0.0.1:6443", ""
	_, resource := encoded(t, m, "urn:uuid:5b1f6a0e-0000-4000-8000-000000000000")
	if diff := cmp.Diff(map[string]any{"k8s.cluster.name": "prod-eu"}, resource); diff != "" {
		t.Error(diff)
	}
}

// TestEncodeHostile checks that a body that is not JSON becomes text, that invalid UTF-8 is replaced, and that deeply nested values
// become JSON text.
func TestEncodeHostile(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	for _, body := range []string{"type: MODIFIED\nobject: {}", `{"type":`, `[1]`, ""} {
		record, _ := encoded(t, message(body), "")
		if got := plain(record.Body); got != body {
			t.Errorf("%q: got body %v", body, got)
		}
	}
	m := message("{\"type\":\"\xff\"}")
	m.Name = "\xff"
	record, _ := encoded(t, m, "")
	if got := plain(record.Body); !cmp.Equal(got, map[string]any{"type": "\ufffd"}) || pairs(record.Attributes)["event.name"] != "\ufffd" {
		t.Errorf("invalid UTF-8: got body %v, attributes %v", got, record.Attributes)
	}
	record, _ = encoded(t, message(deep), "")
	inner := plain(record.Body)
	for range deepest {
		inner = inner.(map[string]any)["a"]
	}
	if want := strings.Repeat(`{"a":`, 100-deepest) + "1" + strings.Repeat("}", 100-deepest); inner != want {
		t.Errorf("deep value: got %v, want %s", inner, want)
	}
}

// TestCheckResponse checks that a rejected record in a successful response is an error.
func TestCheckResponse(t *testing.T) {
	partialSuccess := func(rejected uint64, why string) []byte {
		inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), rejected)
		inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), why)
		return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
	}
	for _, test := range []struct{ kind, answer, want string }{
		{ContentType, "", ""},
		{ContentType, "OK", ""},
		{ContentType, string(partialSuccess(0, "a warning")), ""},
		{ContentType, string(partialSuccess(1, "too old")), "the receiver rejected it: too old"},
		{ContentType, string(partialSuccess(1, "")), "the receiver rejected it"},
		{ContentType, string(partialSuccess(1, "too old")[:4]), ""},
		{"application/json", `{}`, ""},
		{"application/json; charset=utf-8", `{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}`, "the receiver rejected it: too old"},
		{"application/json", `{"partialSuccess":{"rejectedLogRecords":1}}`, "the receiver rejected it"},
		{"text/html", "<html>", ""},
	} {
		got := ""
		if err := CheckResponse(test.kind, []byte(test.answer)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %q: got %q, want %q", test.kind, test.answer, got, test.want)
		}
	}
}
