package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"dwatch/watcher/recording"
)

const (
	// readTimeout is how long a response may stall.
	readTimeout = 30 * time.Second
	// maxListBytes and maxErrorBytes bound the responses that are not segments.
	maxListBytes, maxErrorBytes = 256 << 20, 4 << 10
	// cacheBytes limits the cached segments, except the one read last. Users who browse a recording read the same segments
	// again and again. Of the segment that is being written, only overlapBytes and new bytes are fetched.
	cacheBytes = 16 << 20
	// overlapBytes is how many bytes at the end of a cached segment are fetched again. They differ if the segment was
	// rewritten.
	overlapBytes = 1 << 10
	// maxPreallocatedBytes is more than the size of a usual segment. Buffers for longer responses grow while reading.
	maxPreallocatedBytes = 32 << 20
)

// RefusedError is a response other than 200 OK.
type RefusedError struct {
	StatusCode int
	Message    string // from the response, in one line; may be empty
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("the server responded %d %s", e.StatusCode, http.StatusText(e.StatusCode))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Client reads recordings from a Handler.
type Client struct {
	// URL is the base URL, to which Path is appended. Its query is not used.
	URL *url.URL
	// Token is sent as bearer token. If empty, none is sent.
	Token string
	// Transport sends the requests. Redirects are not followed.
	Transport http.RoundTripper
	// WrapError adds context to an error, such as a RefusedError. nil leaves errors as they are.
	WrapError func(error) error
	UserAgent string

	mu       sync.Mutex
	received int64
	cache    map[segment][]byte
	recent   []segment // keys of cache, the most recently read last
}

// BytesReceived returns the size of all response bodies with status 200.
func (c *Client) BytesReceived() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received
}

// ListRecordings returns the recordings of the server, sorted by cluster.
func (c *Client) ListRecordings(ctx context.Context) (all []recording.ClusterRecording, err error) {
	l, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range l.Recordings {
		all = append(all, recording.ClusterRecording{Cluster: p.Cluster, Store: &remoteStore{c, p.Cluster}})
	}
	slices.SortFunc(all, func(a, b recording.ClusterRecording) int { return strings.Compare(a.Cluster, b.Cluster) })
	return all, nil
}

func (c *Client) list(ctx context.Context) (l listing, err error) {
	text, err := c.get(ctx, nil, maxListBytes)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l); err != nil || l.Version == 0 {
		return l, errors.New("the response is not a dwatch recording")
	}
	if l.Version > ProtocolVersion {
		return l, fmt.Errorf("it is served by a newer dwatch, in version %d, and this one knows %d", l.Version, ProtocolVersion)
	}
	return l, nil
}

// remoteStore is the recording of a cluster. It implements recording.Store.
type remoteStore struct {
	*Client
	cluster string
}

// List implements recording.Store.
func (s *remoteStore) List(ctx context.Context) ([]recording.StoredFile, error) {
	l, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range l.Recordings {
		if p.Cluster != s.cluster {
			continue
		}
		s.evictRemoved(p.Segments)
		return p.Segments, nil
	}
	return nil, errors.New("the server does not serve the recording any more")
}

// evictRemoved removes segments from the cache that do not exist any more.
func (s *remoteStore) evictRemoved(now []recording.StoredFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.cache, func(of segment, _ []byte) bool {
		return of.cluster == s.cluster && !slices.ContainsFunc(now, func(s recording.StoredFile) bool { return s.Name == of.name })
	})
}

// Read implements recording.Store. The result must not be modified.
func (s *remoteStore) Read(ctx context.Context, name string, from, to int64) ([]byte, error) {
	of := segment{s.cluster, name}
	query := url.Values{"segment": {name}}
	if s.cluster != "" {
		query.Set("cluster", s.cluster)
	}
	if to >= 0 { // the start or the end of a segment, which is not cached
		query.Set("from", strconv.FormatInt(from, 10))
		query.Set("to", strconv.FormatInt(to, 10))
		return s.getBytes(ctx, query, max(to-from, 0))
	}
	s.mu.Lock()
	cached := s.cache[of]
	s.mu.Unlock()
	all, err := s.readRest(ctx, query, cached)
	if err != nil {
		return nil, err
	}
	s.addToCache(of, all)
	return all[min(from, int64(len(all))):], nil
}

// readRest returns a whole segment. It fetches only the rest if the segment still begins with cached.
func (s *remoteStore) readRest(ctx context.Context, query url.Values, cached []byte) ([]byte, error) {
	if len(cached) == 0 {
		return s.getBytes(ctx, query, recording.MaxSegmentBytes)
	}
	known := len(cached) - min(len(cached), overlapBytes)
	query.Set("from", strconv.Itoa(known))
	rest, err := s.getBytes(ctx, query, recording.MaxSegmentBytes-int64(known))
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(rest, cached[known:]) {
		query.Del("from")
		return s.getBytes(ctx, query, recording.MaxSegmentBytes)
	}
	return append(slices.Clip(cached[:known]), rest...), nil
}

// getBytes fetches a part of a segment. It returns fs.ErrNotExist only if a Handler reports that the segment does not exist,
// and not if a proxy responds with 404.
func (s *remoteStore) getBytes(ctx context.Context, query url.Values, limit int64) ([]byte, error) {
	data, err := s.get(ctx, query, limit)
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.StatusCode == http.StatusNotFound && refused.Message == errNoSegment.Error() {
		return nil, fs.ErrNotExist
	}
	return data, err
}

// addToCache adds a segment to the cache and evicts the least recently read ones.
func (c *Client) addToCache(of segment, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cache == nil {
		c.cache = map[segment][]byte{}
	}
	c.cache[of] = data
	c.recent = append(slices.DeleteFunc(c.recent, func(s segment) bool { return s == of }), of)
	total := 0
	for _, s := range slices.Backward(c.recent) {
		if total += len(c.cache[s]); total > cacheBytes && s != of {
			delete(c.cache, s)
		}
	}
	c.recent = slices.DeleteFunc(c.recent, func(s segment) bool { return c.cache[s] == nil })
}

// get returns the body of a response, which may have at most limit bytes.
func (c *Client) get(ctx context.Context, query url.Values, limit int64) ([]byte, error) {
	data, err := c.fetch(ctx, query, limit)
	if err != nil && c.WrapError != nil {
		err = c.WrapError(err)
	}
	return data, err
}

func (c *Client) fetch(ctx context.Context, query url.Values, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(readTimeout, func() { cancel(errTimeout) })
	defer quiet.Stop()
	answer, err := c.send(ctx, query)
	if err != nil {
		return nil, cmp.Or(timeoutError(ctx), err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, newRefusedError(answer)
	}
	if query.Has("segment") && answer.ContentLength < 0 { // a truncated response would not be noticed
		return nil, errors.New("the response has no Content-Length, perhaps because of a proxy")
	}
	body := &countingReader{answer.Body, func(n int) {
		quiet.Reset(readTimeout)
		c.mu.Lock()
		c.received += int64(n)
		c.mu.Unlock()
	}}
	data := make([]byte, 0, min(max(answer.ContentLength, 0), maxPreallocatedBytes)+1)
	if answer.ContentLength > limit {
		return nil, fmt.Errorf("the response has %d bytes, and may have at most %d", answer.ContentLength, limit)
	}
	if data, err = readAll(io.LimitReader(body, limit+1), data); err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("the response has more than %d bytes, which it may have at most", limit)
	}
	if err != nil {
		return nil, cmp.Or(timeoutError(ctx), fmt.Errorf("the connection was lost in the middle of a response: %w", err))
	}
	return data, nil
}

var errTimeout = fmt.Errorf("the server sent nothing for %s", readTimeout)

// timeoutError returns errTimeout if that is why ctx was cancelled, or nil.
func timeoutError(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return errTimeout
	}
	return nil
}

func (c *Client) send(ctx context.Context, query url.Values) (*http.Response, error) {
	to := c.URL.JoinPath(Path)
	to.RawQuery, to.Fragment, to.RawFragment = query.Encode(), "", ""
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", c.UserAgent)
	r.Header.Set("Accept", "application/json, application/octet-stream")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return c.Transport.RoundTrip(r)
}

// newRefusedError returns the error for a response.
func newRefusedError(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBytes)) // without it, the error has only the status code
	var p errorResponse
	if json.Unmarshal(text, &p) != nil {
		p.Error = ""
	}
	return &RefusedError{answer.StatusCode, oneLine(p.Error)}
}

// oneLine makes the text of a server safe to print in a message.
func oneLine(text string) string {
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, text[:min(len(text), 200)])
	return strings.Join(strings.Fields(text), " ")
}

// countingReader reports the number of bytes of each Read.
type countingReader struct {
	io.Reader
	onRead func(int)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.onRead(n)
	return n, err
}

// readAll is io.ReadAll into the buffer data, whose capacity is the expected size.
func readAll(r io.Reader, data []byte) ([]byte, error) {
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
}
