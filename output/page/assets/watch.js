// The status at the top of the page: whether the page and dwatch are connected, since when, and the age of the last
// event.
import { byId, setText } from "./dom.js";
import { ago, clock, count, moment, visible } from "./format.js";
import { gapReason } from "./timeslider.js";

/** describe returns the status {state, title, since, last, down}. down is the text of the banner for an outage. */
export function describe({ store, link, linkSince, linkReason, paused, waiting, loading, loadingTime, loadError }, now) {
  const { watch, targets } = store;
  const last = watch.lastEvent ? `last event ${ago(Math.max(0, now - watch.lastEvent))}` : "no event yet";
  if (link === "ended") {
    return { state: "down", title: "dwatch has ended", since: `at ${clock(linkSince)}`, last: "", down: `${linkReason}: the page shows the state at ${clock(linkSince)}.` };
  }
  if (link === "denied") {
    return { state: "down", title: "No access", since: "", last: "", down: linkReason };
  }
  const past = store.hello?.past;
  if (loadError) return { state: "down", title: "Not shown", since: "", last: "", down: visible(loadError) };
  if ((past || loading) && link === "open") return describePast(past ?? { live: true }, loading || store.loading, loadingTime);
  if (link !== "open") {
    if (!linkSince) return { state: "starting", title: "Connecting", since: "", last: "", down: "" };
    return { state: "down", title: "Page disconnected", since: `since ${clock(linkSince)}`, last: "",
      down: `No connection to dwatch since ${clock(linkSince)}. The page shows the state at that time; trying again …` };
  }
  if (paused) return { state: "paused", title: "Paused", since: `since ${clock(paused)}`, last: count(waiting, "change") + " waiting", down: "" };
  if (store.clusters) return describeClusters(store, last);
  const all = [...targets.values()], lost = all.filter((t) => t.state !== "live");
  if (!all.length) return { state: "starting", title: "Starting", since: "", last, down: "" };
  if (!lost.length) return { state: "live", title: "Live", since: watch.since ? `since ${clock(watch.since)}` : "", last, down: "" };
  const worst = lost.find((t) => t.state === "lost" || t.state === "denied") ?? lost[0];
  return { state: lost.length === all.length && worst.state === "lost" ? "lost" : "partly", title: titles[worst.state] ?? worst.state,
    since: [names(lost.filter((t) => t.state === worst.state)), worst.since ? `since ${clock(worst.since)}` : ""].filter(Boolean).join(" "), last, down: "" };
}

/** describePast returns the status while a time of a recording, or of the history since dwatch started, is shown. */
function describePast({ at, unknown, live }, isLoading, loadingTime) {
  if (isLoading) return { state: "starting", title: "Reading", since: loadingTime > Date.now() || live && !loadingTime ? "" : `at ${moment(loadingTime || at)}`, last: "", down: "" };
  const when = `at ${moment(at)}`;
  if (!unknown && live) return { state: "past", title: "Past", since: when, last: "", down: "" };
  if (!unknown) return { state: "live", title: "Recording", since: when, last: "", down: "" };
  const reasons = unknown.map((g) => `${moment(g.from)} to ${clock(g.to)}, ${gapReason(g)}`).join("; ");
  return { state: "partly", title: "Not known", since: when, last: "", down: `The objects at ${moment(at)} are not completely known: ${reasons}.` };
}

/** describeClusters returns the status of several clusters. */
function describeClusters({ clusters, watch }, last) {
  const live = clusters.filter((c) => c.state === "live").length, down = clusters.some((c) => isDown(c));
  if (live === clusters.length && live) return { state: "live", title: "Live", since: watch.since ? `since ${clock(watch.since)}` : "", last, down: "" };
  const state = !down ? "starting" : live ? "partly" : "lost";
  return { state, title: down ? "Connection lost" : "Starting", since: `${live} of ${clusters.length} connected`, last, down: "" };
}

const isDown = (c) => c.state === "lost" || c.state === "denied";

/** Titles by the state of a target. */
const titles = { starting: "Starting", lost: "Connection lost", denied: "No right", gone: "Gone" };

/** names returns the resources of targets as text. */
function names(targets) {
  const resources = [...new Set(targets.map((t) => t.resource))];
  return visible(resources.length > 2 ? `${resources.length} resources` : resources.join(", "));
}

/** show displays a status at the top of the page, and in the title for tabs in the background. */
export function show(status, title = "dwatch") {
  document.body.dataset.watch = status.state;
  const fullTitle = status.state === "live" ? title : `${status.title} · ${title}`;
  if (document.title !== fullTitle) document.title = fullTitle;
  setText(byId("watch-state"), status.title);
  setText(byId("watch-since"), status.since);
  setText(byId("watch-last"), status.last);
  byId("watch").title = [status.title, status.since, status.last].filter(Boolean).join(" · ");
  const down = byId("down");
  setText(down, status.down);
  down.hidden = !status.down;
}
