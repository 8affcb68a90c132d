package page

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// newPrefixProxy serves each dwatch under its own path, which it strips, like a proxy with one host name for many
// programs.
func newPrefixProxy(t *testing.T, runs map[string]*dwatch) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	for prefix, d := range runs {
		target, err := url.Parse(d.home)
		if err != nil {
			t.Fatal(err)
		}
		mux.Handle(prefix+"/", http.StripPrefix(prefix, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		}}))
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// TestPrefix checks that the page, including its links, works behind a proxy under a path, and that two pages under one
// host name do not interfere.
func TestPrefix(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	insecure := []string{"-n", ns, "--addr=127.0.0.1:0", "--serve-insecure"}
	one, two := serve(t, c, append([]string{"cm"}, insecure...)...), serve(t, c, append([]string{"deploy"}, insecure...)...)
	address := newPrefixProxy(t, map[string]*dwatch{"/dwatch": one, "/tools/other": two})
	through := func(prefix string, d *dwatch) string { return strings.Replace(d.url, d.home, address+prefix+"/", 1) }

	b := open(t, through("/dwatch", one), look{})
	b.awaitLive()
	if path := value[string](b, "location.pathname + location.search"); path != "/dwatch/" {
		t.Errorf("the token leads to %s", path)
	}
	value[bool](b, row("alpha")+`.click() ?? true`)
	b.await(`document.querySelector("#detail .yaml")?.textContent.includes("level")`)
	link := value[string](b, "location.href")
	if !strings.HasPrefix(link, address+"/dwatch/?object=configmaps/") {
		t.Errorf("the link is %s", link)
	}
	c.patch(t, ns, "alpha", `{"data":{"level":"debug"}}`)
	b.await(entry("info → debug"))

	b.navigate(through("/tools/other", two))
	b.awaitLive()
	b.await(row("slow"))
	b.navigate(link) // the first page's cookie is still valid
	b.awaitLive()
	b.await(`document.querySelector("#detail .yaml")?.textContent.includes("debug")`)
	value[bool](b, `document.querySelector("#detail header button").click() ?? true`)
	if path := value[string](b, "location.pathname + location.search"); path != "/dwatch/" {
		t.Errorf("without the object the address is %s", path)
	}
}
