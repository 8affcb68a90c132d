package page

import "testing"

// The pure functions of the page, in the browser for which they are.
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
		// A condition that became True: what was before is known from the change.
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:05Z" }], [
			{ time: 5000, changes: [{ path: "status.conditions[type=Ready].status", old: "False", new: "True" }] }], 0, 9000)[0].spans`,
			`[[0,5000,"False"],[5000,9000,"True"]]`},
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:03Z" }], [], 1000, 9000)[0].spans`, `[[3000,9000,"True"]]`},
		{"conditions", `m.spans([], [{ time: 5000, changes: [{ path: "status.conditions[type=Old]", old: '{"status":"True"}' }] }], 0, 9000)[0].spans`, `[[0,5000,"True"]]`},
		{"conditions", `m.spans([{ type: "Ready", status: "True", time: "1970-01-01T00:00:05Z" }], [{ time: 3000, changes: [{ path: "status.conditions[type=Ready]", kind: "added", new: "False, NoRoute: why" }] },
			{ time: 5000, changes: [{ path: "status.conditions[type=Ready]", old: "False", new: "True" }] }], 0, 9000)[0].spans`, `[[3000,5000,"False"],[5000,9000,"True"]]`},
		{"conditions", `[m.tone("Ready", "True"), m.tone("Ready", "False"), m.tone("MemoryPressure", "True"), m.tone("MemoryPressure", "False"), m.tone("Ready", "Unknown")]`,
			`["is-current","is-progress","is-failed","is-current","is-unknown"]`},
		{"conditions", `["FailureTarget", "DisruptionTarget", "NetworkUnavailable", "ReplicaFailure", "SuccessCriteriaMet"].map((type) => m.tone(type, "True"))`,
			`["is-failed","is-failed","is-failed","is-failed","is-current"]`},
		// A link opens an object before anything is known of when dwatch started.
		{"detail", `await (async (panel) => {
			const row = { key: "a", resource: "r", name: "a", status: { state: "Current" }, seq: 1 };
			const api = async () => ({ seq: 1, row, yaml: "", conditions: [], history: { items: [], dropped: 0 } });
			const detail = new m.Detail({ store: new Store(), panel, api, onOpen() {}, onClose() {} });
			detail.open("a", 0);
			await new Promise((done) => setTimeout(done));
			return [panel.querySelector("[aria-label=Changes] .note").textContent, panel.textContent.includes("NaN")];
		})(document.createElement("aside"))`, `["None since dwatch started.",false]`},
		// A tick leads to a change, or it is said that this is not held any more.
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
		})(document.createElement("aside"))`, `["The change of 1970-01-01 05 is not held any more.","09~spec.x 1 → 2",""]`},
		// How many changes are held at most is true.
		{"store", `((s) => { for (let i = 0; i < 5400; i++) s.append({ type: "watch", event: "PAGE", text: "", time: i }); return [s.feed.length <= m.mostChanges, s.feedDropped + s.feed.length]; })(new Store())`, `[true,5400]`},
		// However much is meant, what follows is told, and what is meant longer than that.
		{"store", `((s) => {
			for (let i = 0; i < 6000; i++) s.append({ type: "change", meant: true, time: i });
			for (let i = 0; i < 2000; i++) s.append({ type: "change", time: i });
			for (let i = 0; i < 500; i++) s.append({ type: "change", meant: true, time: i });
			return [s.feed.length, s.followed.count, s.feedText, s.followed.text, s.feed.findLast((one) => !one.meant).time, s.feedDropped];
		})(new Store())`, `[5000,1000,1000000,200000,1999,3500]`},
		{"store", `((s) => {
			const large = (i, meant) => ({ type: "change", meant, time: i, changes: [{ path: "x".repeat(99800) }] });
			for (let i = 0; i < 300; i++) s.append(large(i, true));
			for (let i = 0; i < 300; i++) s.append(large(i, false));
			return [s.feed.length, s.followed.count];
		})(new Store())`, `[200,40]`},
		// What is no longer in the feed is not held elsewhere, and what stood below it stands alone.
		{"followed", `((f) => {
			const [a, b, c, lead] = ["a", "b", "c", "d"].map((key) => ({ key, name: key, resource: "r", root: { kind: "D", name: "d" } }));
			for (const one of [a, b, c]) f.add(one);
			const { group } = f.add({ key: "p", lead: 7 });
			Object.assign(group, { leads: lead }).line.first = false;
			a.dropped = lead.dropped = true;
			f.drop();
			const held = [f.early.size, f.groups.size, group.line.first];
			b.dropped = c.dropped = true;
			f.drop();
			return [...held, f.early.size, f.groups.size, f.count];
		})(new m.Followed(new Store()))`, `[0,2,true,0,1,1]`},
		{"feed", `((f) => {
			f.warnings = new Map([["a", { message: { dropped: true } }], ["b", { message: {} }]]);
			f.store.feedDropped = 1;
			f.dropOld();
			return [...f.warnings.keys()];
		})(Object.assign(Object.create(m.Feed.prototype), { store: new Store(), dropped: 0, followed: { drop() {} }, lines: [], rows: { height: 22 }, viewport: { scrollTop: 0 }, following: true }))`, `["b"]`},
		{"timeline", `m.bars({ segments: [[10, "InProgress"], [20, "Current"]], ended: 30, first: 10 }, 99)`, `[[10,20,"InProgress"],[20,30,"Current"]]`},
		{"timeline", `m.bars({ segments: [[10, "Current"]], initial: true, created: 3, first: 10 }, 99)`, `[[3,99,"Current"]]`},
		// Two targets lose the connection together, and get it back one by one.
		{"timeline", `m.outages([["a", "DISCONNECTED", 1], ["b", "DISCONNECTED", 2], ["a", "RECONNECTED", 4], ["b", "GAP", 6], ["a", "DISCONNECTED", 8]].map(([resource, event, time]) =>
			({ type: "watch", event, time, target: { resource } })), 9)`, `[[1,6],[8,9]]`},
		{"feed", `m.lines({ type: "change", event: "MODIFIED", changes: [{ path: "spec.replicas", kind: "changed", old: "2", new: "3", who: "kubectl-scale" }] })
			.map((l) => [l.path, l.old, l.arrow, l.new, l.who])`, `[["spec.replicas","2","→","3","kubectl-scale"]]`},
		{"feed", `m.lines({ type: "change", event: "MODIFIED", more: 3, changes: Array.from({ length: 8 }, (_, i) => ({ path: "p" + i, kind: "added", new: "1" })) })
			.map((l) => l.path ?? l.text)`, `["p0","p1","p2","p3","p4","… 6 more changes"]`},
		{"feed", `m.lines({ type: "change", event: "MODIFIED", text: "is being deleted", changes: [{ path: "metadata.deletionTimestamp", kind: "added", new: "x" }] }).map((l) => l.text)`,
			`["is being deleted"]`},
		{"feed", `m.lines({ type: "change", event: "DELETED", time: 60000, created: 1000, status: { state: "Terminating" } })[0].text`, `"was Terminating, 59s old"`},
		{"feed", `m.lines({ type: "change", event: "MODIFIED", changes: [{ path: "a", kind: "added", new: "1" }] }, true).map((l) => [l.first, l.path ?? ""])`,
			`[[true,""],[false,"a"]]`},
		{"feed", `m.lines({ type: "change", event: "ADDED", resource: "events", text: "pod/a Warning BackOff: x", status: { state: "Current" } })[0].text`, `"pod/a Warning BackOff: x"`},
		// An outage of all watches is one line, and so is its end; what came in between parts them.
		{"feed", `((all) => {
			const mark = (event, resource, namespace) => ({ type: "watch", event, text: event.toLowerCase(), time: 1000, target: { resource, namespace } });
			for (const x of [mark("LOST", "pods", "a"), mark("LOST", "pods", "b"), mark("LOST", "jobs", "a"), mark("BACK", "pods", "a"), mark("GAP", "pods", "b"), mark("BACK", "jobs", "a"),
				{ type: "change", event: "ADDED" }, mark("BACK", "pods", "b"), { type: "watch", event: "PAGE", text: "back", time: 1 }, mark("BACK", "jobs", "b")]) {
				if (x.type !== "watch" || !m.fold(all, x)) all.push(...m.lines(x));
			}
			return all.map((l) => l.text);
		})([])`, `["lost (pods, jobs · a, b)","back (pods, jobs · a)","gap (pods · b)","added","back (pods, jobs · b)","back"]`},
		// What is lost twice is two outages, and not a long one.
		{"feed", `((all) => {
			for (const [event, resource] of [["LOST", "a"], ["LOST", "b"], ["BACK", "a"], ["LOST", "a"], ["BACK", "b"], ["BACK", "a"]]) {
				const x = { type: "watch", event, text: event.toLowerCase(), time: 1000, target: { resource } };
				if (!m.fold(all, x)) all.push(...m.lines(x));
			}
			return all.map((l) => l.text);
		})([])`, `["lost (a, b)","back (a, b)","lost (a)","back (a)"]`},
		{"feed", `((all) => { for (const time of [0, 9000]) m.fold(all, { event: "LOST", text: "lost", time, target: { resource: "r" + time } }); return all[0].text.replace(/\d\d:\d\d:/, ""); })(m.lines({ type: "watch", event: "LOST", text: "lost", time: 0, target: { resource: "r" } }))`,
			`"lost (3 resources, until 09)"`},
		{"table", `[["Failed", ["CrashLoopBackOff"]], ["InProgress", [""]], ["Current", ["Running"]], ["Unknown", []]].map(([state, cells]) => m.reason({ status: { state, message: "why" }, cells }, [{ name: "Status" }]))`,
			`["CrashLoopBackOff","why","",""]`},
		{"select", `((store) => { ["Current", "InProgress", "Terminating", "Failed", "Unknown"].forEach((state) => store.put({ key: state, namespace: "n", resource: "r", name: state, status: { state } }));
			const counts = m.counts(store), shown = m.table(store, { q: "", kind: [], ns: [], change: [], notready: true }, 0).map((i) => i.key).filter(Boolean);
			return [counts.notReady, counts.namespaces.get("n"), shown]; })(new Store())`, `[3,{"all":5,"failed":1,"busy":2},["Failed","InProgress","Terminating"]]`},
		// Of what is gone it is not said that its connection was lost.
		{"watch", `(({ state, title, since }) => [state, title, since.split(" since")[0]])(m.describe({ store: { watch: { state: "degraded" }, targets: new Map([["pods", "lost"], ["jobs", "gone"], ["nodes", "live"]].map(([resource, state]) => [resource, { resource, state, since: 1 }])) }, link: "open" }, 9))`,
			`["partly","Connection lost","pods"]`},
		{"columns", `m.own({ columns: ["Name", "Ready", "Last Seen", "Age"].map((name) => ({ name })).concat({ name: "Expires", type: "date" }) })`, `[1]`},
		{"columns", `m.own({ columns: [{ name: "Last Seen", counts: true }, { name: "Last Seen" }] })`, `[0]`},
		{"columns", `[m.cellText(1000, { counts: true }, 61000), m.cellText("5s", { counts: true }, 61000), m.cellText(null, { counts: true }, 61000), m.cellText(1000, {}, 61000), m.cellText(9000, { counts: true }, 1000)]`,
			`["60s","5s","","1000","0s"]`},
		{"store", `[((s) => { s.matching = new Set(["x", "y"]); s.forget("x"); return [...s.matching]; })(family())]`, `[["y"]]`},
		{"filters", `((store, panel) => {
			for (let i = 0; i < 250; i++) store.put({ key: "k" + i, namespace: "n" + i, resource: "r", name: "x", status: { state: "Current" } });
			new m.Filters({ store, panel, state: () => ({ kind: [], ns: ["n99"], change: [] }), onChange() {} }).update();
			return [panel.querySelectorAll("[aria-label=Namespaces] button").length, panel.querySelector("[aria-label=Namespaces] + .note").textContent];
		})(family(), document.createElement("div"))`, `[201,"and 49 more: the search finds them, too"]`},
		{"select", `m.timeline(family(), { q: "", kind: [], ns: [], change: [] }, 0).map((i) => [i.key, i.depth])`,
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

// ownersInPage is a Deployment, what it owns, and two objects that own each other.
const ownersInPage = `const family = () => {
	const store = new Store(), row = (key, first, owner) => ({ key, uid: key, seq: 1, resource: "r", name: key, first, status: { state: "Current" }, owners: owner ? [{ uid: owner }] : [] });
	store.apply({ type: "hello", stream: "s", seq: 1, now: Date.now(), resources: [], targets: [], watch: {} });
	store.apply({ type: "snapshot", seq: 1, part: 0, last: true, rows: [row("p2", 4, "r"), row("p1", 3, "r"), row("r", 2, "d"), row("d", 1), row("x", 1, "y"), row("y", 1, "x")] });
	return store;
};`
