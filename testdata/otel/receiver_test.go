package otel

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"

	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/deliver"
	"dwatch/output/deliver/otlp"
	"dwatch/output/deliver/webhook"
	"dwatch/testdata/testenv"
	"dwatch/watcher/event"
)

// collector is an OTLP receiver with the consumer behind it.
type collector struct {
	address string

	mu   sync.Mutex
	got  []plog.Logs
	fail error // result of the consumer for the next records
}

// start starts a collector. change may modify the configuration of its listener.
func start(t *testing.T, change func(*confighttp.ServerConfig)) *collector {
	t.Helper()
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{address: free.Addr().String()}
	free.Close()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	over := config.Protocols.HTTP.GetOrInsertDefault()
	over.ServerConfig.NetAddr.Endpoint = c.address
	if change != nil {
		change(&over.ServerConfig)
	}
	next, err := consumer.NewLogs(func(_ context.Context, logs plog.Logs) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.fail == nil {
			c.got = append(c.got, logs)
		}
		return c.fail
	})
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := factory.CreateLogs(t.Context(), receivertest.NewNopSettings(factory.Type()), config, next)
	if err == nil {
		err = receiver.Start(t.Context(), componenttest.NewNopHost())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { receiver.Shutdown(context.WithoutCancel(t.Context())) })
	return c
}

// sender returns a webhook.Receiver that sends to the collector as dwatch does.
func (c *collector) sender(t *testing.T, scheme string, change func(*webhook.Options)) *webhook.Receiver {
	t.Helper()
	o := webhook.Options{URL: &url.URL{Scheme: scheme, Host: c.address, Path: otlp.LogsPath}, Format: webhook.OTLPLogs, UserAgent: "dwatch/test"}
	if change != nil {
		change(&o)
	}
	w, err := webhook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	w.SetSource("urn:uuid:5b1f6a0e-0000-4000-8000-000000000000")
	return w
}

// message returns a message as the queue of deliver sends it.
func message(body string) *deliver.Message {
	return &deliver.Message{
		ID: "uid-1/7/MODIFIED", Type: event.Modified,
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Identity: event.Identity{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "uid-1", ResourceVersion: "7"},
		Time:     time.Date(2026, 1, 31, 9, 0, 0, 250e6, time.UTC),
		Body:     []byte(body + "\n"),
	}
}

// only returns the single record that the consumer has received.
func (c *collector) only(t *testing.T) (resource map[string]any, scope string, record plog.LogRecord) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.got) != 1 || c.got[0].LogRecordCount() != 1 {
		t.Fatalf("not one record: %v", c.got)
	}
	of := c.got[0].ResourceLogs().At(0)
	in := of.ScopeLogs().At(0)
	return of.Resource().Attributes().AsRaw(), in.Scope().Name(), in.LogRecords().At(0)
}

// TestRecord checks that the consumer gets the event with the attributes of the k8sobjects receiver.
func TestRecord(t *testing.T) {
	const body = `{"type":"MODIFIED","time":"2026-01-31T09:00:00.25Z","object":{"metadata":{"name":"web","labels":{"a.b/c":"\u00e4 <&>"}},"spec":{"replicas":3,"half":0.5,"paused":false,"list":[1,"x",null,{}]}}}`
	c := start(t, nil)
	if err := c.sender(t, "http", nil).Send(t.Context(), message(body)); err != nil {
		t.Fatal(err)
	}
	resource, scope, record := c.only(t)
	at := time.Date(2026, 1, 31, 9, 0, 0, 250e6, time.UTC)
	got := map[string]any{
		"resource": resource, "scope": scope, "attributes": record.Attributes().AsRaw(), "body": record.Body().AsRaw(),
		"time": record.Timestamp().AsTime(), "observed": record.ObservedTimestamp().AsTime(), "severity": record.SeverityNumber().String(),
	}
	want := map[string]any{
		"resource": map[string]any{"k8s.namespace.name": "shop", "k8s.cluster.uid": "5b1f6a0e-0000-4000-8000-000000000000"},
		"scope":    "dwatch",
		"attributes": map[string]any{
			"k8s.resource.name": "deployments", "event.domain": "k8s", "event.name": "web", "log.record.uid": "uid-1/7/MODIFIED",
		},
		"body": map[string]any{
			"type": "MODIFIED", "time": "2026-01-31T09:00:00.25Z", "object": map[string]any{
				"metadata": map[string]any{"name": "web", "labels": map[string]any{"a.b/c": "ä <&>"}},
				"spec":     map[string]any{"replicas": int64(3), "half": 0.5, "paused": false, "list": []any{int64(1), "x", nil, map[string]any{}}},
			},
		},
		"time": at, "observed": at, "severity": "Unspecified", // a change has no severity
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHostile checks that the collector accepts bodies that are deep, large, or not valid UTF-8 or JSON.
func TestHostile(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 200) + "1" + strings.Repeat("]}", 200)
	large, err := json.Marshal(map[string]string{"type": "ADDED", "text": strings.Repeat("x", 3<<20)})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"deep": deep, "large": string(large), "no UTF-8": "{\"type\":\"\xff\"}", "YAML": "type: ADDED\nobject: {}", "empty": ""} {
		c := start(t, nil)
		if err := c.sender(t, "http", nil).Send(t.Context(), message(body)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, _, record := c.only(t); name == "YAML" && record.Body().AsRaw() != body {
			t.Errorf("%s: %v", name, record.Body().AsRaw())
		}
	}
}

// TestTLS checks a collector with a certificate that requires client certificates.
func TestTLS(t *testing.T) {
	path := func(dir, name string) string { return filepath.Join(dir, name) }
	dir := testenv.WriteCertificates(t)
	c := start(t, func(s *confighttp.ServerConfig) {
		s.TLS = configoptional.Some(configtls.ServerConfig{
			Config:       configtls.Config{CertFile: path(dir, "server.crt"), KeyFile: path(dir, "server.key")},
			ClientCAFile: path(dir, "ca.crt"),
		})
	})
	w := c.sender(t, "https", func(o *webhook.Options) {
		o.TLS = deliver.TLS{CA: path(dir, "ca.crt"), Cert: path(dir, "client.crt"), Key: path(dir, "client.key")}
	})
	if err := w.Send(t.Context(), message(`{"type":"ADDED"}`)); err != nil {
		t.Fatal(err)
	}
	c.only(t)
	stranger := c.sender(t, "https", func(o *webhook.Options) { o.TLS.CA = path(dir, "ca.crt") })
	if err := stranger.Send(t.Context(), message(`{"type":"ADDED"}`)); err == nil {
		t.Error("the collector accepts a client without a certificate")
	}
}

// TestAnswers checks that dwatch follows OTLP for the errors of a collector: retry, retry after a delay, or do not
// retry.
func TestAnswers(t *testing.T) {
	throttled, err := status.New(codes.ResourceExhausted, "slow down").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(30 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		fail error
		want string
	}{
		"its memory is full":  {errors.New("data refused due to high memory usage"), "again: HTTP 503"},
		"a queue is full":     {status.Error(codes.ResourceExhausted, "the queue is full"), "again: HTTP 429"},
		"throttled":           {throttled.Err(), "down for 30s: HTTP 429"},
		"no such data":        {status.Error(codes.InvalidArgument, "no"), "refused: HTTP 400"},
		"permanent":           {consumererror.NewPermanent(errors.New("no")), "again: HTTP 500"}, // it may come from a proxy, so the event is not dropped
		"not let in":          {status.Error(codes.Unauthenticated, "who?"), "down for 0s: HTTP 401"},
		"it takes no records": {status.Error(codes.Unimplemented, "no logs"), "refused: HTTP 404"},
	} {
		c := start(t, nil)
		c.fail = test.fail
		w := c.sender(t, "http", nil)
		if got := meaning(w.Send(t.Context(), message(`{"type":"ADDED"}`))); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		c.mu.Lock()
		c.fail = nil
		c.mu.Unlock()
		if err := w.Send(t.Context(), message(`{"type":"ADDED"}`)); err != nil {
			t.Errorf("%s: the next record: %v", name, err)
		}
	}
}

// TestTooLarge checks that a record above the collector's size limit is rejected for good, and others are accepted.
func TestTooLarge(t *testing.T) {
	c := start(t, func(s *confighttp.ServerConfig) { s.MaxRequestBodySize = 10_000 })
	w := c.sender(t, "http", nil)
	if got := meaning(w.Send(t.Context(), message(`{"text":"`+strings.Repeat("x", 20_000)+`"}`))); !strings.HasPrefix(got, "refused: HTTP 4") {
		t.Error(got)
	}
	if err := w.Send(t.Context(), message(`{"type":"ADDED"}`)); err != nil {
		t.Error(err)
	}
	c.only(t)
}

// TestAway checks the errors for a wrong path and for a collector that is not running.
func TestAway(t *testing.T) {
	c := start(t, nil)
	w := c.sender(t, "http", func(o *webhook.Options) { o.URL.Path = "/elsewhere" })
	if got := meaning(w.Send(t.Context(), message(`{}`))); !strings.HasPrefix(got, "refused: HTTP 404") {
		t.Error(got)
	}
	away := &collector{address: "127.0.0.1:1"}
	if got := meaning(away.sender(t, "http", nil).Send(t.Context(), message(`{}`))); !strings.HasPrefix(got, "down for 0s: ") {
		t.Error(got)
	}
}

// meaning returns how the queue treats an error.
func meaning(err error) string {
	refused, isRefused := errors.AsType[*deliver.RefusedError](err)
	down, isDown := errors.AsType[*deliver.DownError](err)
	switch {
	case err == nil:
		return "delivered"
	case isRefused && refused.Err != nil:
		return "refused: " + err.Error()
	case isDown:
		return "down for " + down.RetryAfter.String() + ": " + err.Error()
	}
	return "again: " + err.Error()
}
