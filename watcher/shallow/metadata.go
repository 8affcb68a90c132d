package shallow

import "net/http"

// MetadataOnly returns a client that asks for nothing but the metadata of
// objects: each comes as a PartialObjectMetadata
// (kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches). It uses the
// connections of client.
func MetadataOnly(client *http.Client) *http.Client {
	only := *client
	if only.Transport == nil {
		only.Transport = http.DefaultTransport
	}
	only.Transport = metadataOnly{only.Transport}
	return &only
}

type metadataOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (m metadataOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	kind := "PartialObjectMetadataList"
	if r.URL.Query().Has("watch") {
		kind = "PartialObjectMetadata"
	}
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json;as="+kind+";g=meta.k8s.io;v=v1")
	return m.next.RoundTrip(r)
}
