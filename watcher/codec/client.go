package codec

import (
	"cmp"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/watcher/event"
)

// Options says which objects to read, and which parts of them.
type Options struct {
	// KeepManagedFields keeps metadata.managedFields in the content.
	KeepManagedFields bool
	// Shard drops objects of other shards early: lists omit them, and in a watch only their
	// identity remains.
	Shard event.Shard
}

func (o Options) scanner() scanner {
	return scanner{keepManagedFields: o.KeepManagedFields, shard: o.Shard, warn: func(string) {}}
}

// NewClient returns the stock dynamic client over a REST client that reads raw objects. It uses
// dynamic.New because dynamic.NewForConfig would overwrite the serializer.
func NewClient(config *rest.Config, client *http.Client, o Options) (*dynamic.DynamicClient, error) {
	return newClient(config, client, o.scanner())
}

func newClient(config *rest.Config, client *http.Client, s scanner) (*dynamic.DynamicClient, error) {
	config = dynamic.ConfigFor(config)
	config.GroupVersion = nil
	config.AcceptContentTypes = runtime.ContentTypeJSON // never CBOR
	config.APIPath = "/not-used-by-the-dynamic-client"
	s.warn = warner(config)
	config.NegotiatedSerializer = negotiated{config.NegotiatedSerializer, s}
	c, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return dynamic.New(c), nil
}

// warner returns a function that passes warnings to the handler of config.
func warner(config *rest.Config) func(string) {
	var handler rest.WarningHandler = rest.WarningLogger{}
	if config.WarningHandler != nil {
		handler = config.WarningHandler
	}
	return func(text string) { handler.HandleWarningHeader(warningCode, "dwatch", text) }
}

// warningCode is the only HTTP warning code that client-go's handlers accept.
const warningCode = 299

// negotiated wraps the stock serializers and replaces those for JSON.
type negotiated struct {
	runtime.NegotiatedSerializer
	scanner scanner
}

func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo {
	var infos []runtime.SerializerInfo
	for _, info := range n.NegotiatedSerializer.SupportedMediaTypes() {
		if info.MediaType != runtime.ContentTypeJSON {
			continue // not requested
		}
		info.Serializer = objects{Serializer: info.Serializer, scanner: n.scanner}
		info.StreamSerializer = &runtime.StreamSerializerInfo{
			EncodesAsText: true,
			Serializer:    events{info.StreamSerializer.Serializer},
			Framer:        framer{info.StreamSerializer.Framer, n.scanner.warn},
		}
		infos = append(infos, info)
	}
	return infos
}

// DecoderToVersion implements runtime.NegotiatedSerializer. There is nothing to convert.
func (negotiated) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return d
}

var _ runtime.Decoder = objects{}

// objects decodes single objects and lists.
type objects struct {
	runtime.Serializer // the stock one, for other data than objects
	scanner            scanner
}

func (o objects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if defaults != nil {
		// data is the body of an error, which may not be JSON.
		return o.Serializer.Decode(data, defaults, into)
	}
	decoded, err := o.scanner.decode(alias(data), into)
	switch {
	case err != nil:
		return nil, nil, err
	case decoded == nil:
		return o.Serializer.Decode(data, defaults, into)
	}
	gvk := decoded.GetObjectKind().GroupVersionKind()
	return decoded, &gvk, nil
}

// MetadataOnlyClient returns a client that shares the connections of client and requests only the
// metadata of objects. Each arrives as a PartialObjectMetadata
// (kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches).
func MetadataOnlyClient(client *http.Client) *http.Client {
	return withRequest(client, func(r *http.Request) {
		kind := "PartialObjectMetadataList"
		if r.URL.Query().Has("watch") {
			kind = "PartialObjectMetadata"
		}
		r.Header.Set("Accept", "application/json;as="+kind+";g=meta.k8s.io;v=v1")
	})
}

// withRequest returns a client that shares the connections of client and calls change for a copy of
// each request.
func withRequest(client *http.Client, change func(*http.Request)) *http.Client {
	copied := *client
	copied.Transport = requestChanger{cmp.Or(client.Transport, http.DefaultTransport), change}
	return &copied
}

type requestChanger struct {
	next   http.RoundTripper
	change func(*http.Request)
}

func (c requestChanger) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	c.change(r)
	return c.next.RoundTrip(r)
}
