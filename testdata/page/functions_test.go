package page

import "testing"

// TestFunctions tests the pure functions of the page in the browser.
func TestFunctions(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	for _, test := range []struct{ module, expression, want string }{
		{"format", `[0, 119e3, 125e3, 11*60e3, 3*36e5 + 6e5, 9*36e5, 50*36e5, 9*864e5, 800*864e5].map(m.age)`,
			`["0s","119s","2m5s","11m","3h10m","9h","2d2h","9d","2y70d"]`},
		{"format", `[m.ago(400), m.ago(5000), m.count(1, "change"), m.count(2000, "change"), m.size(999), m.size(1500), m.size(2.5e6)]`,
			`["now","5s ago","1 change","2,000 changes","999 bytes","1.5 KB","2.5 MB"]`},
		{"format", `m.visible("a\n\tb\u202ec\u0000d\u200be é 🙂")`, `"a\\n\\tb\\u202ec\\u0000d\\u200be é 🙂"`},
		{"format", `[m.shortPath("spec.replicas", 20), m.shortPath("spec.template.spec.containers[name=web].image", 30)]`,
			`["spec.replicas","…containers[name=web].image"]`},
		{"compare", `m.compared("a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne\n")`, `{"diff":["@@ -2,3 +2,3 @@"," b","-c","+x"," d"]}`},
		{"compare", `[m.compared("a", "a"), m.compared("", "a"), m.compared("a\nb\n".repeat(2000) + "c", "a\nb\n".repeat(2000) + "d").diff]`,
			`[{"diff":[]},{"diff":["@@ -1,1 +1,1 @@","-","+a"]},["@@ -4000,2 +4000,2 @@"," b","-c","+d"]]`},
		{"compare", `m.compared("x\n".repeat(3000), "y\n".repeat(3000)).diffMore`, `4001`},
		{"url", `m.write(m.parse("?q=a+b&kind=pods,deployments.apps&notready=true&span=300&view=timeline&object=pods/1&other=1"))`,
			`"?q=a+b&kind=pods,deployments.apps&notready=true&view=timeline&span=300&object=pods/1"`},
		{"url", `[m.write(m.parse("")), m.parse("?view=x&span=-3&at=x&kind=,").view, m.parse("?span=-3").span, m.parse("?kind=,").kind]`,
			`["","table",0,[]]`},
		{"url", `[m.toggle(["a"], "b"), m.toggle(["a", "b"], "a")]`, `[["a","b"],["b"]]`},
		{"axis", `m.timeWindow({ span: 60, until: 100000 }, 0, 5e5)`, `[40000,100000]`},
		{"axis", `m.marks(0, 60000, 600, 100).map((x) => x.time)`, `[0,10000,20000,30000,40000,50000,60000]`},
		{"axis", `[m.zoomed([0, 100000], 100000, 0.5, 100000, 1e6), m.zoomed([0, 100000], 0, 0.5, 100000, 1e6), m.zoomed([0, 1e5], 0, 20, 1e5, 1e6)]`,
			`[{"span":50,"until":0},{"span":50,"until":50000},{"span":0,"until":0}]`},
		{"axis", `m.panned([0, 60000], -30000, 60000)`, `{"span":60,"until":30000}`},
		// The value of a condition before it became True is taken from the change.
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:05Z" }], [
			{ time: 5000, changes: [{ path: "status.conditions[type=Ready].status", old: "False", new: "True" }] }], 0, 9000)[0].spans`,
			`[[0,5000,"False"],[5000,9000,"True"]]`},
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:03Z" }], [], 1000, 9000)[0].spans`, `[[3000,9000,"True"]]`},
		// A condition of an existing object tells since when it has had its value. Its earlier value is unknown.
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:05Z" }, { type: "New", status: "True", time: "1970-01-01T00:00:06Z" }], [
			{ time: 5000, changes: [{ path: "status.conditions[type=Ready].status", old: "False", new: "True" }] }], 1000, 9000, 4000, [{ type: "Ready", status: "False", time: "1970-01-01T00:00:02Z" }])
			.map((c) => [c.before, c.spans, c.since])`, `[[[2000,4000,"False",2000],[[4000,5000,"False"],[5000,9000,"True"]],5000],[null,[[6000,9000,"True"]],6000]]`},
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:01Z" }], [], 3000, 9000, 4000, [{ type: "Ready", status: "True", time: "1970-01-01T00:00:01Z" }])
			.map((c) => [c.before, c.spans])`, `[[[3000,4000,"True",1000],[[4000,9000,"True"]]]]`},
		// The window begins with the earliest condition, up to ten minutes before the first event, or up to as long as
		// dwatch has seen the object.
		{"conditions", `[m.windowOf([], 5e6, 6e6), m.windowOf([{ time: "1970-01-01T01:23:10Z" }, { time: "" }], 5e6, 5.1e6), m.windowOf([{ time: "1970-01-01T00:00:01Z" }], 5e6, 5.1e6), m.windowOf([{ time: "1970-01-01T00:00:01Z" }], 5e6, 7e6)]`,
			`[[5000000,6000000],[4990000,5100000],[4400000,5100000],[3000000,7000000]]`},
		// A message that was dropped from the feed is removed from its group.
		{"followups", `(() => { const f = new m.FollowUps({ kind: () => "pod", feed: [] }); const all = ["a", "b"].map((key) => ({ key, root: { kind: "Deployment", name: "d" }, resource: "pods", name: key, time: 1 })); ` +
			`const { group } = f.add(all[0]); f.add(all[1]); all[0].dropped = true; f.removeDropped(); return [...group.keys].join(); })()`, `"b"`},
		// If two changes do not fit together, changes between them were dropped.
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:08Z" }], [2000, 5000].map((time) => ({ time, changes: [{ path: "status.conditions[type=Ready].status", old: "True", new: "False" }] })), 0, 9000)[0].spans.join(" ")`,
			`"0,2000,True 2000,5000,not held 5000,8000,not held 8000,9000,True"`},
		{"conditions", `m.spans([], [{ time: 5000, changes: [{ path: "status.conditions[type=Old]", old: '{"status":"True"}' }] }], 0, 9000)[0].spans`, `[[0,5000,"True"]]`},
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:05Z" }], [{ time: 3000, changes: [{ path: "status.conditions[type=Ready]", kind: "added", new: "False, NoRoute: why" }] },
			{ time: 5000, changes: [{ path: "status.conditions[type=Ready]", old: "False", new: "True" }] }], 0, 9000)[0].spans`, `[[3000,5000,"False"],[5000,9000,"True"]]`},
		{"conditions", `[m.tone("Ready", "True"), m.tone("Ready", "False"), m.tone("MemoryPressure", "True"), m.tone("MemoryPressure", "False"), m.tone("Ready", "Unknown")]`,
			`["is-current","is-progress","is-failed","is-current","is-unknown"]`},
		{"conditions", `["FailureTarget", "DisruptionTarget", "NetworkUnavailable", "ReplicaFailure", "SuccessCriteriaMet"].map((type) => m.tone(type, "True"))`,
			`["is-failed","is-failed","is-failed","is-failed","is-current"]`},
		// A link opens an object before the start time of dwatch is known.
		{"detail", `await (async (panel) => {
			const row = { key: "a", resource: "r", name: "a", status: { state: "Current" }, seq: 1 };
			const api = async () => ({ seq: 1, row, yaml: "", conditions: [], history: { items: [], dropped: 0 } });
			const detail = new m.Detail({ store: new Store(), panel, api, onOpen() {}, onClose() {} });
			detail.open("a", 0);
			await new Promise((done) => setTimeout(done));
			return [panel.querySelector("[aria-label=Changes] .note").textContent, panel.textContent.includes("NaN")];
		})(document.createElement("aside"))`, `["None since dwatch started.",false]`},
		// A tick leads to a change, or to a note that the change was dropped.
		{"detail", `await (async (panel) => {
			const row = { key: "a", resource: "r", name: "a", status: { state: "Current" }, seq: 1 };
			const changed = (time) => ({ type: "change", event: "MODIFIED", feed: true, key: "a", time, changes: [{ path: "spec.x", kind: "changed", old: "1", new: "2" }] });
			const api = async () => ({ seq: 1, row, yaml: "", conditions: [], history: { items: [changed(9000)], dropped: 1 } });
			const detail = new m.Detail({ store: new Store(), panel, api, onOpen() {}, onClose() {} });
			const all = [];
			for (const at of [5000, 9000, 0]) {
				detail.open("a", at);
				await new Promise((done) => setTimeout(done));
				all.push([...panel.querySelectorAll(".history .selected")].map((e) => e.textContent.replace(/\d\d:\d\d:/, "")).join());
			}
			return all;
		})(document.createElement("aside"))`, `["The change of 1970-01-01 05 is no longer retained.","09~spec.x 1 → 2",""]`},
		// A failed request for the changes before a problem is repeated after a while.
		{"detail", `await (async (panel) => {
			const row = { key: "a", resource: "r", name: "a", namespace: "", status: { state: "Failed" }, seq: 1, segments: [[1, "Current"], [700000, "Failed"]], ticks: [] }, store = new Store(), asked = [];
			store.objects.set("a", row);
			const answers = [{ error: "no answer from dwatch" }, { from: 100000, to: 700000, items: [] }];
			const api = async (path) => (path === "leadup" ? (asked.push(path), answers.shift()) : { seq: 1, row, yaml: "", conditions: [], history: { items: [], dropped: 0 } });
			const detail = new m.Detail({ store, panel, api, onOpen() {}, onClose() {} }), all = [];
			const real = performance.now, begun = real.call(performance);
			detail.open("a", 0);
			for (const later of [0, 6000, 12000, 24000]) {
				performance.now = () => begun + later;
				detail.update();
				await new Promise((done) => setTimeout(done));
				all.push(asked.length + " " + panel.querySelector("[aria-label^='The 10 minutes'] .note:last-child").textContent);
			}
			performance.now = real;
			return all;
		})(document.createElement("aside"))`, `["1 no answer from dwatch","2 No changes.","2 No changes.","2 No changes."]`},
		// The number of dropped changes is exact.
		{"store", `((s) => { for (let i = 0; i < 5400; i++) s.append({ type: "watch", event: "PAGE", text: "", time: i }); return [s.feed.length <= m.feedLimit, s.feedDropped + s.feed.length]; })(new Store())`, `[true,5400]`},
		// A change has only the changed members of the row.
		{"store", `((s) => {
			s.apply({ type: "hello", stream: "s", seq: 1, now: Date.now(), resources: [], targets: [], watch: {} });
			s.apply({ type: "snapshot", seq: 1, part: 0, last: true, rows: [{ key: "a", seq: 1, resource: "r", name: "n", created: 7, labels: { l: "1" }, cells: ["x"], status: { state: "Current" } }] });
			s.apply({ type: "change", seq: 2, event: "MODIFIED", time: 9, feed: true, key: "a", resource: "r", name: "n", row: { labels: null, cells: ["y"], changes: 1 } });
			const { name, created, labels, cells, changes, seq, ticks } = s.objects.get("a");
			return [name, created, labels ?? null, cells, changes, seq, ticks, s.feed[0].created];
		})(new Store())`, `["n",7,null,["y"],1,2,[9],7]`},
		// A change has no row if its other members contain all differences.
		{"store", `((s) => {
			s.apply({ type: "hello", stream: "s", seq: 1, now: Date.now(), resources: [], targets: [], watch: {} });
			s.apply({ type: "snapshot", seq: 1, part: 0, last: true, rows: [{ key: "a", seq: 1, resource: "r", name: "n", changed: 5, changes: 3, status: { state: "Current" }, ticks: [5] }] });
			s.apply({ type: "change", seq: 2, event: "MODIFIED", time: 9, feed: true, key: "a", resource: "r", name: "n" });
			s.apply({ type: "change", seq: 3, event: "MODIFIED", time: 11, feed: false, key: "a", resource: "r", name: "n", row: { cells: ["y"] } });
			s.apply({ type: "change", seq: 4, event: "MODIFIED", time: 12, feed: true, key: "b", resource: "r", name: "unknown" });
			const { changed, changes, seq, ticks, cells } = s.objects.get("a");
			return [changed, changes, seq, ticks, cells, s.objects.size];
		})(new Store())`, `[9,4,3,[5,9],["y"],1]`},
		// Intentional changes do not displace all consequences, and are kept longer than these.
		{"store", `((s) => {
			for (let i = 0; i < 6000; i++) s.append({ type: "change", meant: true, time: i });
			for (let i = 0; i < 2000; i++) s.append({ type: "change", time: i });
			for (let i = 0; i < 500; i++) s.append({ type: "change", meant: true, time: i });
			return [s.feed.length, s.followUps.count, s.feedText, s.followUps.text, s.feed.findLast((one) => !one.meant).time, s.feedDropped];
		})(new Store())`, `[5000,1000,1000000,200000,1999,3500]`},
		{"store", `((s) => {
			const large = (i, meant) => ({ type: "change", meant, time: i, changes: [{ path: "x".repeat(99800) }] });
			for (let i = 0; i < 300; i++) s.append(large(i, true));
			for (let i = 0; i < 300; i++) s.append(large(i, false));
			return [s.feed.length, s.followUps.count];
		})(new Store())`, `[200,40]`},
		// Messages dropped from the feed are removed from groups, and a group without its cause stands alone.
		{"followups", `((f) => {
			const [a, b, c, lead] = ["a", "b", "c", "d"].map((key) => ({ key, name: key, resource: "r", root: { kind: "D", name: "d" } }));
			for (const one of [a, b, c]) f.add(one);
			const { group } = f.add({ key: "p", lead: 7 });
			Object.assign(group, { cause: lead }).line.first = false;
			a.dropped = lead.dropped = true;
			f.removeDropped();
			const held = [f.early.size, f.groups.size, group.line.first];
			b.dropped = c.dropped = true;
			f.removeDropped();
			return [...held, f.early.size, f.groups.size, f.count];
		})(new m.FollowUps(new Store()))`, `[0,2,true,0,1,1]`},
		{"feed", `((f) => {
			f.warnings = new Map([["a", [{ message: { dropped: true } }]], ["b", [{ message: {} }]]]);
			f.store.feedDropped = 1;
			f.removeDropped();
			return [...f.warnings.keys()];
		})(Object.assign(Object.create(m.Feed.prototype), { store: new Store(), dropped: 0, followUps: { removeDropped() {} }, lines: [], rows: { height: 22 }, viewport: { scrollTop: 0 }, following: true }))`, `["b"]`},
		{"timeline", `m.bars({ segments: [[10, "InProgress"], [20, "Current"]], ended: 30, first: 10 }, 99)`, `[[10,20,"InProgress"],[20,30,"Current"]]`},
		{"timeline", `m.bars({ segments: [[10, "Current"]], initial: true, created: 3, first: 10 }, 99)`, `[[3,99,"Current"]]`},
		// Two targets lose the connection together, and regain it one after the other.
		{"timeline", `m.outages([["a", "DISCONNECTED", 1], ["b", "DISCONNECTED", 2], ["a", "RECONNECTED", 4], ["b", "GAP", 6], ["a", "DISCONNECTED", 8]].map(([resource, event, time]) =>
			({ type: "watch", event, time, target: { resource } })), 9)`, `[[1,6],[8,9]]`},
		{"lines", `m.lines({ type: "change", event: "MODIFIED", changes: [{ path: "spec.replicas", kind: "changed", old: "2", new: "3", who: "kubectl-scale" }] })
			.map((l) => [l.path, l.old, l.arrow, l.new, l.who])`, `[["spec.replicas","2","→","3","kubectl-scale"]]`},
		{"lines", `m.lines({ type: "change", event: "MODIFIED", more: 3, changes: Array.from({ length: 8 }, (_, i) => ({ path: "p" + i, kind: "added", new: "1" })) })
			.map((l) => l.path ?? l.text)`, `["p0","p1","p2","p3","p4","… 6 more changes"]`},
		{"lines", `m.lines({ type: "change", event: "MODIFIED", text: "is being deleted", changes: [{ path: "metadata.deletionTimestamp", kind: "added", new: "x" }] }).map((l) => l.text)`,
			`["is being deleted"]`},
		{"lines", `m.lines({ type: "change", event: "DELETED", time: 60000, created: 1000, status: { state: "Terminating" } })[0].text`, `"was Terminating, 59s old"`},
		{"lines", `m.lines({ type: "change", event: "MODIFIED", changes: [{ path: "a", kind: "added", new: "1" }] }, 40).map((l) => [l.first, l.path ?? ""])`,
			`[[true,""],[false,"a"]]`},
		{"lines", `m.lines({ type: "change", event: "ADDED", resource: "events", text: "pod/a Warning BackOff: x", status: { state: "Current" } })[0].text`, `"pod/a Warning BackOff: x"`},
		// On a phone the whole new value and the manager are shown.
		{"lines", `m.lines({ type: "change", event: "MODIFIED", changes: [{ path: "spec.text", kind: "changed", old: "a few words that were there", new: "abcdefghijklmnopqrstuvwxyz", who: "kubectl-edit" }] }, 20)
			.map((l) => [l.path, l.old, l.arrow, l.new, l.text].filter(Boolean).join(" "))`,
			`["","spec.text","a few words that","were there","→ abcdefghijklmnopqr","stuvwxyz","· kubectl-edit"]`},
		// The losses of all watches are one line, and so are the reconnects, unless another line is between them.
		{"lines", `((all) => {
			const mark = (event, resource, namespace) => ({ type: "watch", event, text: event.toLowerCase(), time: 1000, target: { resource, namespace } });
			for (const x of [mark("LOST", "pods", "a"), mark("LOST", "pods", "b"), mark("LOST", "jobs", "a"), mark("BACK", "pods", "a"), mark("GAP", "pods", "b"), mark("BACK", "jobs", "a"),
				{ type: "change", event: "ADDED" }, mark("BACK", "pods", "b"), { type: "watch", event: "PAGE", text: "back", time: 1 }, mark("BACK", "jobs", "b")]) {
				if (x.type !== "watch" || !m.fold(all, x)) all.push(...m.lines(x));
			}
			return all.map((l) => l.text);
		})([])`, `["lost (pods, jobs · a, b)","back (pods, jobs · a)","gap (pods · b)","added","back (pods, jobs · b)","back"]`},
		// Two losses of one watch are two outages.
		{"lines", `((all) => {
			for (const [event, resource] of [["LOST", "a"], ["LOST", "b"], ["BACK", "a"], ["LOST", "a"], ["BACK", "b"], ["BACK", "a"]]) {
				const x = { type: "watch", event, text: event.toLowerCase(), time: 1000, target: { resource } };
				if (!m.fold(all, x)) all.push(...m.lines(x));
			}
			return all.map((l) => l.text);
		})([])`, `["lost (a, b)","back (a, b)","lost (a)","back (a)"]`},
		{"lines", `((all) => { for (const time of [0, 9000]) m.fold(all, { event: "LOST", text: "lost", time, target: { resource: "r" + time } }); return all[0].text.replace(/\d\d:\d\d:/, ""); })(m.lines({ type: "watch", event: "LOST", text: "lost", time: 0, target: { resource: "r" } }))`,
			`"lost (3 resources, until 09)"`},
		{"table", `[["Failed", ["CrashLoopBackOff"]], ["InProgress", [""]], ["Current", ["Running"]], ["Unknown", []]].map(([state, cells]) => m.reason({ status: { state, message: "why" }, cells }, [{ name: "Status" }]))`,
			`["CrashLoopBackOff","why","",""]`},
		{"select", `((store) => { ["Current", "InProgress", "Terminating", "Failed", "Unknown"].forEach((state) => store.put({ key: state, namespace: "n", resource: "r", name: state, status: { state } }));
			const counts = m.counts(store), shown = m.table(store, { q: "", kind: [], ns: [], change: [], notready: true }, 0).map((i) => i.key).filter(Boolean);
			return [counts.notReady, counts.namespaces.get("n"), shown]; })(new Store())`, `[3,{"all":5,"failed":1,"busy":2},["Failed","InProgress","Terminating"]]`},
		// "No problems" is only shown when all watches are connected.
		{"problems", `["starting", "live", "lost"].map((state) => new m.Problems({ store: { problems: { items: [] }, targets: new Map([["a", { state }]]) }, isConnected: () => true }).lines()[0])`,
			`["Problems unknown until all watches are connected.","No problems.","Problems unknown until all watches are connected."]`},
		{"problems", `new m.Problems({ store: { problems: { items: [], stateless: true }, targets: new Map([["a", { state: "live" }]]) }, isConnected: () => true }).lines()[0]`, `"The watched resources have no health status."`},
		// A resource that the server no longer has is not shown as a lost connection.
		{"watch", `(({ state, title, since }) => [state, title, since.split(" since")[0]])(m.describe({ store: { watch: { state: "degraded" }, targets: new Map([["pods", "lost"], ["jobs", "gone"], ["nodes", "live"]].map(([resource, state]) => [resource, { resource, state, since: 1 }])) }, link: "open" }, 9))`,
			`["partly","Connection lost","pods"]`},
		// Repeated changes have the first and the last one, and the last one has the number of repetitions.
		{"exported", `((change) => [
			m.historyOf([change(1), change(2), change(9, 5, 2)], { changes: 6 }), m.historyOf([change(2), change(9, 5, 2)], { changes: 8 }), m.historyOf([change(2), change(2), change(9, 5, 2)], { changes: 6 }),
			m.historyOf([change(2), change(4, 2, 2), change(9, 5, 2)], { changes: 5 }),
		].map(({ items, dropped }) => items.map((i) => i.time).join() + " " + dropped))((time, times, since) => ({ type: "change", feed: true, time, ...(times && { times, since }) }))`,
			`["1,2,9 0","2,9 3","2,2,9 0","2,9 0"]`},
		// Without the content, the panel does not show which conditions are gone, nor when the object was first seen.
		{"detail", `await (async (panel) => {
			const row = { key: "a", resource: "r", name: "a", status: { state: "Current" }, seq: 1, first: 2000 }, all = [];
			const changed = { type: "change", event: "MODIFIED", feed: true, key: "a", time: 9000, changes: [{ path: "status.conditions[type=Ready].status", kind: "changed", old: "False", new: "True" }] };
			for (const more of [{ yamlNote: "left out" }, { conditions: [], moments: [2000, 9000] }, { conditions: [], moments: [5000, 9000] }]) {
				const api = async () => ({ seq: 1, row, history: { items: [changed], dropped: 0 }, ...more });
				const detail = new m.Detail({ store: new Store(), panel, api, onOpen() {}, onClose() {} });
				detail.open("a", 0);
				await new Promise((done) => setTimeout(done));
				const conditions = panel.querySelector("[aria-label=Conditions]").textContent;
				all.push([conditions.includes("gone"), conditions.includes("left out"), panel.textContent.includes("first observed")].join());
			}
			return all;
		})(document.createElement("aside"))`, `["false,true,false","true,false,true","true,false,false"]`},
		{"columns", `m.own({ columns: ["Name", "Ready", "Last Seen", "Age"].map((name) => ({ name })).concat({ name: "Expires", type: "date" }) })`, `[1]`},
		{"columns", `m.own({ columns: [{ name: "Last Seen", counts: true }, { name: "Last Seen" }] })`, `[0]`},
		// Columns without values are hidden. Images stay, at least partly, rather than other wide columns. Spare room
		// goes to columns that were cut.
		{"columns", `((all, resource, image) => {
			const say = (room) => { const { shown, widths, grid } = all.layout(resource, room); return shown.map((i, n) => resource.columns[i].name + " " + Math.round(widths[n])).join() + "; " + /([\d.]+)ch [\d.]+ch [\d.]+ch$/.exec(grid)[1]; };
			const put = (state, message, ...cells) => all.measure(resource, { name: "x".repeat(40), status: { state, message }, cells });
			put("Current", "", "checkout", "2/2", "<none>", "", "main", image, "app=checkout");
			const before = [90, 130, 145, 250].map(say);
			put("Failed", "Progress deadline exceeded", "checkout", "2/2", "<none>", "later", "main", image, "app=checkout");
			return [...before, say(90), say(145)];
		})(new m.Columns(), { id: "deployments.apps", columns: [["Name"], ["Ready"], ["Port"], ["Note"], ["Containers", 1], ["Images", 1], ["Selector", 1]].map(([name, priority]) => ({ name, priority })) }, "registry.example.com/shop/team/checkout:5.2.1-alpine")`,
			`["Ready 6; 12","Ready 6,Images 34; 18","Ready 6,Containers 11,Images 36; 18","Ready 6,Containers 11,Images 53,Selector 13; 18","Ready 6,Note 6; 27","Ready 6,Note 6,Images 32; 27"]`},
		// The message of an Event gets room first, and its type is its state.
		{"columns", `((all, resource) => {
			all.measure(resource, { name: "web.1", status: { state: "Warning" }, cells: [1000, "Warning", "BackOff", "pod/web-7d9f-x", "back-off 5m0s restarting failed container"] });
			return [70, 100, 145].map((room) => all.layout(resource, room)).map(({ shown, widths }) => shown.map((i, n) => resource.columns[i].name + " " + Math.round(widths[n])).join());
		})(new m.Columns(), { id: "events", columns: [["Last Seen", 0, true], ["Type"], ["Reason"], ["Object"], ["Message"]].map(([name, priority, counts]) => ({ name, priority, counts })) })`, `["Message 22","Reason 8,Message 42","Last Seen 10,Reason 8,Object 15,Message 42"]`},
		{"columns", `[m.cellText(1000, { counts: true }, 61000), m.cellText("5s", { counts: true }, 61000), m.cellText(null, { counts: true }, 61000), m.cellText(1000, {}, 61000), m.cellText(9000, { counts: true }, 1000)]`,
			`["60s","5s","","1000","0s"]`},
		{"store", `[((s) => { s.matching = new Set(["x", "y"]); s.forget("x"); return [...s.matching]; })(family())]`, `[["y"]]`},
		{"filters", `((store, panel) => {
			for (let i = 0; i < 250; i++) store.put({ key: "k" + i, namespace: "n" + i, resource: "r", name: "x", status: { state: "Current" } });
			new m.Filters({ store, panel, state: () => ({ cluster: [], kind: [], ns: ["n99"], change: [] }), onChange() {} }).update();
			return [panel.querySelectorAll("[aria-label=Namespaces] button").length, panel.querySelector("[aria-label=Namespaces] + .note").textContent];
		})(family(), document.createElement("div"))`, `[201,"and 49 more: the search finds them, too"]`},
		{"axis", `[m.untilWith(50000, 0.5, 100, 200000), m.untilWith(50000, 0.25, 100, 200000), m.untilWith(150000, 0.5, 100, 200000)]`, `[100000,125000,0]`},
		// Failed objects come first, then those that are not ready. Objects that were healthy all the time are folded,
		// unless they are searched or their owner is opened.
		{"select", `((store, state) => {
			for (const [key, is, owner, more] of [["a"], ["a1", "Current", "a"], ["a2", "Current", "a1"], ["b", "InProgress"], ["b1", "Current", "b"], ["b2", "InProgress", "b"], ["c"], ["c1", "Failed", "c"], ["c2", "Current", "c"],
				["d"], ["d1", "Current", "d", { ticks: [150] }], ["e"], ["e1", "Current", "e", { segments: [[1, "Failed"], [150, "Current"]] }]]) {
				store.put({ key, uid: key, resource: "r", name: key, initial: true, created: 1, first: 90, status: { state: is ?? "Current" }, segments: [[90, is ?? "Current"]], owners: owner ? [{ uid: owner }] : [], ...more });
			}
			const text = (...more) => m.timeline(store, ...more).map((i) => " ".repeat(i.depth) + i.key + (i.quiet ? "+" + i.quiet : "") + (i.open ? "-" + i.open : "")).join();
			return [text(state, [80, 200]), text(state, [180, 200]), text(state, [180, 200], new Set(["a"])), text({ ...state, q: "r" }, [180, 200])];
		})(new Store(), { q: "", kind: [], ns: [], change: [] })`,
			`["c+1, c1,b+1, b2,a+2,d, d1,e, e1","c+1, c1,b+1, b2,a+2,d+1,e+1","c+1, c1,b+1, b2,a-2, a1,  a2,d+1,e+1","c, c1, c2,b, b2, b1,a, a1,  a2,d, d1,e, e1"]`},
		// A failed object moves up at once, a recovered one stays for a while, and a deleted one keeps its place.
		// Nothing moves while the ranking is frozen.
		{"ranking", `((s, is) => {
			const objects = () => new Map(Object.entries(is).map(([key, state]) => [key, { key, ended: state === "ended" ? 5 : 0, status: { state: state === "ended" ? "Current" : state } }]));
			const all = [], at = (now, more) => { Object.assign(is, more); s.update(objects(), now); all.push(Object.keys(is).map((key) => s.get(key)).join("") + "." + s.version); };
			at(0, {});
			at(1, { a: "Failed", b: "InProgress" });
			at(2, { a: "InProgress", b: "ended" });
			at(6000, {});
			at(8003, { a: "Current", b: "ended" });
			s.frozen = true;
			at(9000, { c: "Failed" });
			s.frozen = false;
			at(9001, {});
			return all;
		})(new m.Ranking(), { a: "Current", b: "Current", c: "Unknown" })`, `["222.0","012.1","012.1","012.1","212.2","212.2","210.3"]`},
		// At another time the ranking is computed from scratch, also while it is frozen, and while objects are still
		// loading.
		{"ranking", `((s) => {
			const objects = (is) => new Map(Object.entries(is).map(([key, state]) => [key, { key, status: { state } }]));
			const all = [], at = (is, loading) => { s.update(objects(is), 1, loading); all.push(["a", "b"].map((key) => s.get(key)).join("")); };
			s.frozen = true;
			at({ a: "Failed" });
			at({ b: "Failed" });
			s.reset();
			at({ a: "Current" }, true);
			at({ a: "Current", b: "InProgress" });
			at({ a: "Failed", b: "Failed" });
			return all;
		})(new m.Ranking())`, `["02","02","22","21","21"]`},
		// A gap that has not ended grows with the present. In a recording all gaps have ended.
		{"timeslider", `[[{ from: 50, to: 100 }, 150], [{ from: 100, to: 151 }, 150], [{ from: -5, to: 500 }]].map(([gap, known]) => m.stretch({ from: 0, to: 200, known }, gap))`, `[[25,25],[50,50],[0,100]]`},
		// The slider requests the coverage, and shows "complete" only after the response. The gaps move to the left as
		// time passes. One step forward from a long past time is a minute, and near the present it leads to the present.
		{"timeslider", `await (async () => {
			let now = 7200e3, linked = true, answer, went;
			const store = { hello: { live: true, started: 1 }, now: () => store.hello.past?.at ?? now }, all = [];
			const [panel, button] = ["div", "button"].map((name) => document.createElement(name));
			const slider = new m.TimeSlider({ store, panel, button, onTime: (time) => went(time), queryCoverage: () => new Promise((answers) => { answer = answers; }), isConnected: () => linked, isLoading: () => false });
			const say = () => all.push([panel.querySelector("summary").textContent, ...[...panel.querySelectorAll(".gaps i")].map((e) => parseFloat(e.style.left).toFixed(1) + "+" + parseFloat(e.style.width).toFixed(1))].join(" "));
			const told = async (message) => { answer(message); await 0; await 0; say(); };
			slider.update();
			slider.toggle();
			say();
			const gap = { from: 1200e3, to: 2400e3, why: "not connected" };
			await told({ from: 0, to: now, gaps: [gap, { ...gap, from: 6e6, to: now + 1 }] });
			now *= 2;
			slider.tick();
			say();
			linked = false;
			slider.tick();
			say();
			linked = true;
			slider.toggle();
			slider.queriedAt = -Infinity;
			slider.toggle();
			say();
			await told({ error: "no answer" });
			slider.queriedAt = -Infinity;
			slider.tick();
			await told({ from: 0, to: now });
			now += 20e3;
			slider.draw();
			say();
			for (const at of [3590e3, now - 30e3]) {
				store.hello = { started: 1, past: { live: true, from: 0, to: 3600e3, at } };
				slider.update();
				all.push(await new Promise((r) => { went = r; slider.step(1); }));
			}
			store.hello = { started: 2, live: true };
			slider.update();
			say();
			return all;
		})()`, `["asking …","2 gaps 16.7+16.7 83.3+16.7","2 gaps, asking … 8.3+8.3 41.7+58.3","2 gaps, no connection to dwatch 8.3+8.3 41.7+58.3","asking …","no answer","complete","asking …",3650000,0,"asking …"]`},
		// An Event has no lane of its own in addition to that of its object, even if the object was deleted. A Warning
		// keeps its object from being folded.
		{"select", `((store, state) => {
			store.on_resource({ resource: { id: "pods", kind: "Pod" } });
			const put = (key, more) => store.put({ key, uid: key, resource: "pods", name: key, initial: true, created: 1, first: 90, status: { state: "Current" }, segments: [[90, "Current"]], ...more });
			const event = (key, uid, kind, state, more) => put(key, { resource: "events", status: { state }, about: { uid, kind, name: uid, at: 95 }, ...more });
			put("d");
			put("p", { owners: [{ uid: "d" }] });
			put("q", { owners: [{ uid: "d" }] });
			put("gone", { ended: 95 });
			for (const [key, ...more] of [["w", "p", "Pod", "Warning"], ["n", "q", "Pod", "Normal"], ["o", "gone", "Pod", "Warning"], ["never", "x", "Pod", "Warning"], ["other", "j", "Job", "Warning"]]) event(key, ...more);
			const text = (more, from = 91) => m.timeline(store, { ...state, ...more }, [from, 200]).map((i) => i.key + (i.quiet ? "+" + i.quiet : "")).sort().join(" ");
			const all = [text({}), text({}, 99), text({ kind: ["events"] }), text({ q: "never" }), text({ q: "w" })];
			store.forget("w");
			return [...all, store.eventsOf(store.objects.get("p")).length, store.eventsByObject.size];
		})(new Store(), { q: "", kind: [], ns: [], change: [] })`,
			`["d+1 gone other p","d+2 other","n never o other w","never","never o other w",0,4]`},
		{"warnings", `((store) => {
			store.on_resource({ resource: { id: "pods", kind: "Pod" } });
			store.on_resource({ resource: { id: "events", columns: ["Last Seen", "Reason", "Message", "Count"].map((name) => ({ name })) } });
			store.put({ key: "p", uid: "p", resource: "pods", name: "web", status: { state: "Failed" } });
			store.put({ key: "e", resource: "events", name: "e", status: { state: "Warning" }, cells: [1, "BackOff", "back-off", 3], initial: true, created: 5, first: 90, ticks: [95], about: { uid: "p", kind: "Pod", name: "web", at: 50 } });
			store.put({ key: "f", resource: "events", name: "f", status: { state: "Normal" }, first: 91, about: { uid: "p", kind: "Pod", name: "web" } });
			const warnings = new m.Warnings(store), all = [warnings.marks(store.objects.get("p"))];
			store.forget("e");
			warnings.setQueried("d", { items: [{ time: 7, warning: true, reason: "Failed", message: "no", about: "pod/web" }, { time: 8, reason: "Pulled", about: "pod/web" }, { time: 9, warning: true, reason: "Own", message: "" }] });
			all.push(warnings.marks(store.objects.get("p")));
			store.put({ key: "d", resource: "deployments.apps", name: "web", status: { state: "Failed" } });
			return [...all, warnings.marks(store.objects.get("p")), warnings.marks(store.objects.get("d"))].map((marks) => marks.map((one) => one.time + " " + one.text).join("; "));
		})(new Store())`, `["5 ×3 Warning BackOff: back-off; 50 ×3 Warning BackOff: back-off; 95 ×3 Warning BackOff: back-off","","7 Warning Failed: no","9 Warning Own"]`},
		// who: finds the manager of a stored change, even if it no longer owns a field. So do words without who:, and
		// several words have to match.
		{"select", `((store, state) => {
			for (const key of ["a", "b", "c"]) store.put({ key, resource: "r", name: key, status: { state: "Current" }, by: ["flux"] });
			store.append({ type: "change", meant: true, time: 1, key: "a", changes: [{ path: "x", who: "ArgoCD" }, { path: "y" }] });
			store.append({ type: "change", meant: true, time: 2, key: "b", changes: [{ path: "x", who: "flux" }] });
			const found = (q) => [...store.objects.values()].filter(m.filter({ ...state, q }, store).row).map((row) => row.key).join("");
			return ["who:argo", "who:flux", "who:argo who:flux", "argo", "who:helm"].map(found);
		})(new Store(), { q: "", cluster: [], kind: [], ns: [], change: [] })`, `["a","abc","a","a",""]`},
		// The whole timeline begins with the first mark, which may be before the start.
		{"warnings", `((store) => {
			const warnings = new m.Warnings(store), all = [warnings.oldest()];
			store.put({ key: "n", resource: "events", name: "n", status: { state: "Normal" }, initial: true, created: 5, first: 90, about: { uid: "p", kind: "Pod", name: "web", at: 6 } });
			all.push(warnings.oldest());
			store.put({ key: "e", resource: "events", name: "e", status: { state: "Warning" }, initial: true, created: 50, first: 90, ticks: [95], about: { uid: "p", kind: "Pod", name: "web", at: 60 } });
			all.push(warnings.oldest());
			warnings.setQueried("d", { items: [{ time: 40, warning: true, reason: "Own", message: "" }, { time: 8, reason: "Pulled" }] });
			return [...all, warnings.oldest()].join();
		})(new Store())`, `"Infinity,Infinity,50,40"`},
		{"select", `m.timeline(family(), { q: "", kind: [], ns: [], change: [] }, [0, 99]).map((i) => [i.key, i.depth])`,
			`[["d",0],["r",1],["p1",2],["p2",2],["x",0],["y",1]]`},
	} {
		got := value[string](b, `import("./assets/store.js").then(async ({ Store }) => {
			const m = await import("./assets/`+test.module+`.js");
			`+ownersInPage+`
			return JSON.stringify(`+test.expression+`);
		})`)
		if got != test.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", test.module, test.expression, got, test.want)
		}
	}
}

// ownersInPage defines family, a store with a Deployment, the objects that it owns, and two objects that own each other.
const ownersInPage = `const family = () => {
	const store = new Store(), row = (key, first, owner) => ({ key, uid: key, seq: 1, resource: "r", name: key, first, status: { state: "Current" }, owners: owner ? [{ uid: owner }] : [] });
	store.apply({ type: "hello", stream: "s", seq: 1, now: Date.now(), resources: [], targets: [], watch: {} });
	store.apply({ type: "snapshot", seq: 1, part: 0, last: true, rows: [row("p2", 4, "r"), row("p1", 3, "r"), row("r", 2, "d"), row("d", 1), row("x", 1, "y"), row("y", 1, "x")] });
	return store;
};`
