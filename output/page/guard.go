package page

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard reports whether a request may be served. If not, guard has answered it.
func (s *Server) guard(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case !s.isHost(r):
		fail(w, http.StatusMisdirectedRequest, "this is not served under that host name")
	case !s.isOrigin(r):
		fail(w, http.StatusForbidden, "the request comes from another web page")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, "only GET and HEAD are allowed")
	case r.URL.Path == "/" && r.URL.Query().Has("token"):
		s.login(w, r)
	case !s.isKnown(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, r, "open the address that dwatch printed when it started: it has the token")
	default:
		return true
	}
	return false
}

// login sets the cookie, and redirects to the page without the token in the URL.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if token := r.URL.Query().Get("token"); !s.isToken(token) && !s.takeOnce(token) {
		refuse(w, r, "the token is of another run of dwatch, or has been used: open the address that this one printed")
		return
	}
	// A proxy may serve the page below a path that the server does not know. So the cookie has no path, which limits it
	// to the directory of the opened URL, and the redirect is relative.
	http.SetCookie(w, &http.Cookie{
		Name: cookie(r), Value: s.token, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: s.isSecure(r),
	})
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
}

// refuse answers with status 401: an HTML page for browsers, JSON for other clients.
func refuse(w http.ResponseWriter, r *http.Request, text string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		fail(w, http.StatusUnauthorized, text)
		return
	}
	w.Header().Set("Content-Type", contentTypes[".html"])
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprintf(w, noAccess, strings.ToUpper(text[:1])+text[1:])
}

// noAccess is the format of a page without assets, because assets need the token, too.
const noAccess = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>dwatch: no access</title></head>
<body>
<h1>No access</h1>
<p>%s.</p>
<p>It is on the terminal where <code>dwatch serve</code> runs, in the line that begins with <code>page:</code>, or in the log of its pod.</p>
</body>
</html>
`

// isSecure reports whether a request came by TLS: to this server, or to the proxy.
func (s *Server) isSecure(r *http.Request) bool {
	return r.TLS != nil || s.options.BehindProxy && r.Header.Get("X-Forwarded-Proto") == "https"
}

// cookie returns the name of the cookie. It contains the port, because browsers share cookies among the ports of a host.
func cookie(r *http.Request) string {
	if asked := (&url.URL{Host: r.Host}); asked.Port() != "" {
		return "dwatch-" + asked.Port()
	}
	return "dwatch"
}

// isKnown reports whether a request has the token, in the Authorization header or a cookie.
func (s *Server) isKnown(r *http.Request) bool {
	// A proxy may add an Authorization header of its own. The cookie still counts then.
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && s.isToken(token) {
		return true
	}
	// Other servers under the same host name may have set cookies with the same name.
	return slices.ContainsFunc(r.CookiesNamed(cookie(r)), func(c *http.Cookie) bool { return s.isToken(c.Value) })
}

func (s *Server) isToken(text string) bool { return isSame(text, s.token) }

// takeOnce reports whether text is the one-time token, and invalidates it if so.
func (s *Server) takeOnce(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.once == "" || !isSame(text, s.once) {
		return false
	}
	s.once = ""
	return true
}

// isSame compares in constant time. Only the length of the token, which is public, can be measured.
func isSame(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// isHost reports whether the Host of a request is the address that it arrived at, a name in the certificate, or, if it
// arrived over loopback, localhost or a usual loopback address. Other names may be under the control of an attacker who
// made them resolve to this machine (DNS rebinding). The port is not checked: behind "ssh -L" it differs. isOrigin refuses
// pages from other ports.
func (s *Server) isHost(r *http.Request) bool {
	if s.options.BehindProxy {
		return true // the token protects the page
	}
	local, ok := localAddress(r)
	if !ok {
		return false
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap() == local || local.IsLoopback() && isUsualLoopback(address)
	}
	if strings.EqualFold(host, "localhost") {
		return local.IsLoopback()
	}
	certificate := s.options.Certificate
	return certificate != nil && certificate.Leaf.VerifyHostname(host) == nil
}

// isUsualLoopback reports whether an address is 127.0.0.1 or ::1, which port forwarding uses.
func isUsualLoopback(address netip.Addr) bool {
	return address == netip.IPv6Loopback() || address == netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

func localAddress(r *http.Request) (netip.Addr, bool) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddrPort(local.String())
	return address.Addr().Unmap().WithZone(""), err == nil
}

// isOrigin reports whether a request comes from the page itself, from a program, or from a link to the page.
func (s *Server) isOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) > 1 {
		return false
	}
	if len(origins) == 1 {
		origin, err := url.Parse(origins[0])
		if err != nil || !strings.EqualFold(origin.Host, r.Host) {
			return false
		}
		// Default ports are omitted, so the http and https origins of a host may differ only in their scheme.
		return origin.Scheme == "https" || origin.Scheme == "http" && !s.isSecure(r)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.URL.Path == "/"
}
