package shallow

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewClient returns the stock dynamic client over a REST client that reads
// shallow objects. managedFields keeps metadata.managedFields in the content.
//
// dynamic.NewForConfig would overwrite the serializer; dynamic.New does not.
func NewClient(config *rest.Config, client *http.Client, managedFields bool) (*dynamic.DynamicClient, error) {
	return newClient(config, client, scanner{keepManagedFields: managedFields})
}

func newClient(config *rest.Config, client *http.Client, s scanner) (*dynamic.DynamicClient, error) {
	config = dynamic.ConfigFor(config)
	config.GroupVersion = nil
	config.AcceptContentTypes = runtime.ContentTypeJSON // and never CBOR
	config.APIPath = "/not-used-by-the-dynamic-client"
	config.NegotiatedSerializer = negotiated{config.NegotiatedSerializer, s}
	c, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return dynamic.New(c), nil
}

// negotiated is the stock serializers, with those for JSON replaced.
type negotiated struct {
	runtime.NegotiatedSerializer
	scanner scanner
}

func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo {
	var infos []runtime.SerializerInfo
	for _, info := range n.NegotiatedSerializer.SupportedMediaTypes() {
		if info.MediaType != runtime.ContentTypeJSON {
			continue // nothing else is asked for
		}
		info.Serializer = objects{Serializer: info.Serializer, scanner: n.scanner}
		info.StreamSerializer = &runtime.StreamSerializerInfo{
			EncodesAsText: true,
			Serializer:    events{info.StreamSerializer.Serializer},
			Framer:        framer{info.StreamSerializer.Framer},
		}
		infos = append(infos, info)
	}
	return infos
}

// DecoderToVersion implements runtime.NegotiatedSerializer: there is nothing to
// convert.
func (negotiated) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return d
}

var _ runtime.Decoder = objects{}

// objects decodes single objects and lists.
type objects struct {
	runtime.Serializer // the stock one: for what is no object of the API
	scanner            scanner
}

func (o objects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if defaults != nil {
		// The body of an error, which unlike an event is not known to be JSON.
		return o.Serializer.Decode(data, defaults, into)
	}
	if decoded, err := o.scanner.decode(alias(data), into); decoded != nil || err != nil {
		if err != nil {
			return nil, nil, err
		}
		gvk := decoded.GetObjectKind().GroupVersionKind()
		return decoded, &gvk, nil
	}
	return o.Serializer.Decode(data, defaults, into)
}
