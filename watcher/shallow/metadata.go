package shallow

import "net/http"

// MetadataOnly returns a client that asks for nothing but the metadata of
// objects: each comes as a PartialObjectMetadata
// (kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches). It uses the
// connections of client.
func MetadataOnly(client *http.Client) *http.Client {
	return withRequest(client, func(r *http.Request) {
		kind := "PartialObjectMetadataList"
		if r.URL.Query().Has("watch") {
			kind = "PartialObjectMetadata"
		}
		r.Header.Set("Accept", "application/json;as="+kind+";g=meta.k8s.io;v=v1")
	})
}

// withRequest returns a client that changes each request, and uses the connections of client.
func withRequest(client *http.Client, change func(*http.Request)) *http.Client {
	changed := requestChanger{client.Transport, change}
	if changed.next == nil {
		changed.next = http.DefaultTransport
	}
	copied := *client
	copied.Transport = changed
	return &copied
}

type requestChanger struct {
	next   http.RoundTripper
	change func(*http.Request)
}

// RoundTrip implements http.RoundTripper.
func (c requestChanger) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	c.change(r)
	return c.next.RoundTrip(r)
}
