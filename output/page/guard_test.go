package page

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestGuard tests which requests are allowed by Host, Origin, method and token.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	_, port, _ := strings.Cut(s.host, ":")
	set := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	host := func(host string) func(*http.Request) {
		return func(r *http.Request) { r.Host = host }
	}
	forwarded := func(to, origin string) func(*http.Request) {
		return func(r *http.Request) { r.Host = to; r.Header.Set("Origin", origin) }
	}
	none := func(*http.Request) {}
	anonymous := func(r *http.Request) { r.Header.Del("Authorization") }
	cookie := func(value string) func(*http.Request) {
		return func(r *http.Request) {
			anonymous(r)
			r.AddCookie(&http.Cookie{Name: "dwatch-" + port, Value: value})
		}
	}
	tests := []struct {
		what, method, path string
		change             func(*http.Request)
		code               int
	}{
		{"the page", "GET", "/", none, 200},
		{"its head", "HEAD", "/", none, 200},
		{"a file of it", "GET", "/assets/index.html", none, 200},
		{"no token", "GET", "/", anonymous, 401},
		{"no token", "GET", "/ws", anonymous, 401},
		{"no token", "GET", "/api/events", anonymous, 401},
		{"no token", "GET", "/assets/index.html", anonymous, 401},
		{"no token", "GET", "/nope", anonymous, 401},
		{"another token", "GET", "/", set("Authorization", "Bearer "+strings.Repeat("0", 32)), 401},
		{"an empty token", "GET", "/", set("Authorization", "Bearer "), 401},
		{"a part of the token", "GET", "/", set("Authorization", "Bearer "+s.token[:31]), 401},
		{"a longer token", "GET", "/", set("Authorization", "Bearer "+s.token+"0"), 401},
		{"another scheme", "GET", "/", set("Authorization", "Basic "+s.token), 401},
		{"the cookie", "GET", "/api/objects", cookie(s.token), 200},
		{"another cookie", "GET", "/api/objects", cookie("x"), 401},
		{"the token in the address, elsewhere", "GET", "/api/objects?token=" + s.token, anonymous, 401},
		{"a wrong token in the address", "GET", "/?token=x", none, 401},
		{"an empty token in the address", "GET", "/?token=", none, 401},
		{"localhost", "GET", "/", host("localhost:" + port), 200},
		{"LOCALHOST", "GET", "/", host("LOCALHOST:" + port), 200},
		{"a name that points here", "GET", "/", host("evil.example:" + port), 421},
		{"a name, with the token", "GET", "/?token=" + s.token, host("evil.example:" + port), 421},
		{"localhost as a part", "GET", "/", host("localhost.evil.example:" + port), 421},
		{"localhost with a dot", "GET", "/", host("localhost.:" + port), 421},
		{"no name", "GET", "/", host(":" + port), 421},
		{"a forwarded port", "GET", "/", host("localhost:1"), 200},
		{"a forwarded port", "GET", "/", host("127.0.0.1:1"), 200},
		{"a forwarded port", "GET", "/", host("[::1]:1"), 200},
		{"the usual port, forwarded", "GET", "/", host("localhost"), 200},
		{"the usual port, forwarded", "GET", "/", host("[::1]"), 200},
		{"a forwarded port's page", "GET", "/api/objects", forwarded("localhost:1", "http://localhost:1"), 200},
		{"another port's page, forwarded", "GET", "/ws", forwarded("localhost:1", "http://localhost:2"), 403},
		{"this port's page, forwarded", "GET", "/ws", forwarded("localhost:1", "http://localhost:"+port), 403},
		{"another name's page, forwarded", "GET", "/ws", forwarded("localhost:1", "http://127.0.0.1:1"), 403},
		{"a name that points to a forwarded port", "GET", "/", host("evil.example:1"), 421},
		{"a name and its page, forwarded", "GET", "/ws", forwarded("evil.example:1", "http://evil.example:1"), 421},
		{"the cookie of another port", "GET", "/", func(r *http.Request) { cookie(s.token)(r); r.Host = "localhost:1" }, 401},
		{"another address", "GET", "/", host("127.0.0.2:" + port), 421},
		{"any address", "GET", "/", host("0.0.0.0:" + port), 421},
		{"the page itself", "GET", "/api/objects", set("Origin", "http://"+s.host), 200},
		{"another page", "GET", "/api/objects", set("Origin", "http://evil.example"), 403},
		{"another page's WebSocket", "GET", "/ws", set("Origin", "http://evil.example"), 403},
		{"another port's page", "GET", "/ws", set("Origin", "http://127.0.0.1:1"), 403},
		{"a page in a sandbox", "GET", "/ws", set("Origin", "null"), 403},
		{"a file origin", "GET", "/ws", set("Origin", "file://"+s.host), 403},
		{"two origins", "GET", "/", set("Origin", "http://"+s.host, "http://evil.example"), 403},
		{"an image of another page", "GET", "/api/objects", set("Sec-Fetch-Site", "cross-site"), 403},
		{"another port's image", "GET", "/api/objects", set("Sec-Fetch-Site", "same-site"), 403},
		{"a link", "GET", "/", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
		}, 200},
		{"POST", "POST", "/", none, 405},
		{"POST", "POST", "/api/objects", none, 405},
		{"DELETE", "DELETE", "/api/object?key=pods/u1", none, 405},
		{"OPTIONS", "OPTIONS", "/api/objects", none, 405},
		{"HEAD of a stream", "HEAD", "/api/events", none, 405},
		{"no such path", "GET", "/nope", none, 404},
		{"no such file", "GET", "/assets/nope.js", none, 404},
		{"the list of files", "GET", "/assets/", none, 404},
		{"the list of files", "GET", "/assets", none, 404},
		{"a file by another name", "GET", "/assets/../assets/index.html", none, 404},
		{"a file elsewhere", "GET", "/assets/..%2f..%2fserver.go", none, 404},
		{"no WebSocket", "GET", "/ws", none, 426},
	}
	for _, test := range tests {
		r := s.request(t, test.method, test.path)
		test.change(r)
		response, body := send(t, r)
		if response.StatusCode != test.code {
			t.Errorf("%s: %s %s: %d instead of %d: %s", test.what, test.method, test.path, response.StatusCode, test.code, body)
		}
		if !strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'") ||
			response.Header.Get("X-Content-Type-Options") != "nosniff" || response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %s %s: %v", test.what, test.method, test.path, response.Header)
		}
	}
}

// TestRefused tests that browsers get a refusal as HTML, and programs as JSON.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	for accept, want := range map[string]string{"text/html,*/*;q=0.8": "<p>Open the address that dwatch printed", "*/*": `{"error":"open the address that dwatch printed`} {
		r := s.request(t, "GET", "/")
		r.Header.Del("Authorization")
		r.Header.Set("Accept", accept)
		if response, body := send(t, r); response.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s: %s", accept, response.Status, body)
		}
	}
}

// TestLogin tests that the first request turns the token into a cookie, and removes it from the address.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	path, ok := strings.CutPrefix(s.URL(), "http://"+s.host)
	if !ok {
		t.Fatalf("the URL is %s", s.URL())
	}
	r := s.request(t, "GET", path)
	r.Header.Del("Authorization")
	response, _ := send(t, r)
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "./" {
		t.Fatalf("%s to %q", response.Status, response.Header.Get("Location"))
	}
	cookies := response.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Domain != "" || cookies[0].Path != "" {
		t.Fatalf("cookies: %v", cookies)
	}
	again := s.request(t, "GET", "/")
	again.Header.Del("Authorization")
	again.AddCookie(cookies[0])
	if response, _ := send(t, again); response.StatusCode != http.StatusOK {
		t.Errorf("with the cookie: %s", response.Status)
	}
}

// TestOneTime tests that a one-time URL can be opened once.
func TestOneTime(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	use := func(url string) int {
		t.Helper()
		r := s.request(t, "GET", strings.TrimPrefix(url, "http://"+s.host))
		r.Header.Del("Authorization")
		response, _ := send(t, r)
		return response.StatusCode
	}
	first := s.OneTimeURL()
	second := s.OneTimeURL()
	for i, step := range []struct {
		url  string
		code int
	}{{first, 401}, {second, 303}, {second, 401}, {s.URL(), 303}, {s.URL(), 303}} {
		if code := use(step.url); code != step.code {
			t.Errorf("step %d: %d instead of %d", i, code, step.code)
		}
	}
}

// TestProxied tests that any Host is accepted behind a proxy, but no foreign Origin.
func TestProxied(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	s.options.BehindProxy = true
	for origin, code := range map[string]int{"": 200, "https://watch.example": 200, "https://evil.example": 403} {
		r := s.request(t, "GET", "/")
		r.Host = "watch.example"
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if response, _ := send(t, r); response.StatusCode != code {
			t.Errorf("Origin %q: %s", origin, response.Status)
		}
	}
}

// TestHostElsewhere tests that requests that arrive at an external address may not use a loopback name as Host.
func TestHostElsewhere(t *testing.T) {
	t.Parallel()
	s := NewServer(newHub(), ServerOptions{})
	for host, want := range map[string]bool{
		"10.0.0.5:8443": true, "10.0.0.5:9000": true, "10.0.0.5": true,
		"localhost:8443": false, "127.0.0.1:8443": false, "[::1]:8443": false, "10.0.0.6:8443": false, "watch.example:8443": false,
	} {
		local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 8443}
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, local), "GET", "/", nil)
		r.Host = host
		if got := s.isHost(r); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// TestOriginScheme tests that http and https origins of a host differ, although neither contains a port.
func TestOriginScheme(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	s.options.BehindProxy = true
	for _, test := range []struct {
		proto, origin string
		code          int
	}{{"https", "https://watch.example", 200}, {"https", "http://watch.example", 403}, {"http", "http://watch.example", 200}} {
		r := s.request(t, "GET", "/api/objects")
		r.Host = "watch.example"
		r.Header.Set("X-Forwarded-Proto", test.proto)
		r.Header.Set("Origin", test.origin)
		if response, _ := send(t, r); response.StatusCode != test.code {
			t.Errorf("%+v: %s", test, response.Status)
		}
	}
}

// TestManyCookies tests that neither cookies of other servers under the same host name nor an Authorization header of a
// proxy get in the way.
func TestManyCookies(t *testing.T) {
	t.Parallel()
	s := serve(t, newHub())
	_, port, _ := net.SplitHostPort(s.host)
	name := "dwatch-" + port
	for _, test := range []struct {
		what, authorization, cookies string
		code                         int
	}{
		{"another's first", "", name + "=theirs; " + name + "=" + s.token, 200},
		{"a proxy's", "Bearer of-the-proxy", name + "=" + s.token, 200},
		{"of another port", "", "dwatch-1=" + s.token, 401},
		{"neither", "Bearer of-the-proxy", name + "=theirs", 401},
	} {
		r := s.request(t, "GET", "/")
		r.Header.Del("Authorization")
		if test.authorization != "" {
			r.Header.Set("Authorization", test.authorization)
		}
		r.Header.Set("Cookie", test.cookies)
		if response, _ := send(t, r); response.StatusCode != test.code {
			t.Errorf("%s: %s", test.what, response.Status)
		}
	}
}

// TestSecureCookie tests that a cookie that was set over TLS, also by a proxy, is Secure.
func TestSecureCookie(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		proxied bool
		proto   string
		want    bool
	}{{true, "https", true}, {true, "http", false}, {true, "", false}, {false, "https", false}} {
		s := serve(t, newHub())
		s.options.BehindProxy = test.proxied
		r := s.request(t, "GET", "/?token="+s.token)
		r.Header.Set("X-Forwarded-Proto", test.proto)
		response, _ := send(t, r)
		if cookies := response.Cookies(); len(cookies) != 1 || cookies[0].Secure != test.want {
			t.Errorf("%+v: %v", test, cookies)
		}
	}
}
