package page

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestUTC checks that times and the beginnings of days are in the viewer's time zone, or in UTC with --utc.
func TestUTC(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings")
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, `["05:30:00","1970-01-01 05:30:00","1970-01-02 00:30:00",-19800000]`},
		{[]string{"--utc"}, `["00:00:00","1970-01-01 00:00:00","1970-01-01 19:00:00",0]`},
	} {
		b := open(t, serve(t, c, append([]string{"cm", "-n", ns}, test.args...)...).url, look{})
		if _, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"}); err != nil {
			t.Fatal(err)
		}
		b.awaitLive()
		got := value[string](b, `import("./assets/format.js").then((m) => JSON.stringify([m.clock(0), m.moment(0), m.moment(19 * 36e5), m.zone(0)]))`)
		if got != test.want {
			t.Errorf("%v: %s, want %s", test.args, got, test.want)
		}
	}
}
