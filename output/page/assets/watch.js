// The state of the watch, always to be seen: is the page connected, is dwatch, since when,
// and how old is the last event.
import { byId, setText } from "./dom.js";
import { ago, clock, count, moment, visible } from "./format.js";
import { whyUnknown } from "./past.js";

/** describe is {state, title, since, last, down} of the head of the page. */
export function describe({ store, link, linkSince, linkWhy, paused, waiting, reading, readingOf, unread }, now) {
  const { watch, targets } = store;
  const last = watch.lastEvent ? `last event ${ago(Math.max(0, now - watch.lastEvent))}` : "no event yet";
  if (link === "ended") {
    return { state: "down", title: "dwatch has ended", since: `at ${clock(linkSince)}`, last: "", down: `${linkWhy}: what you see is how it was at ${clock(linkSince)}.` };
  }
  if (link === "denied") {
    return { state: "down", title: "No access", since: "", last: "", down: linkWhy };
  }
  const past = store.hello?.past;
  if (unread) return { state: "down", title: "Not shown", since: "", last: "", down: visible(unread) };
  if ((past || reading) && link === "open") return rewound(past ?? { live: true }, reading || store.loading, readingOf);
  if (link !== "open") {
    if (!linkSince) return { state: "starting", title: "Connecting", since: "", last: "", down: "" };
    return { state: "down", title: "Page disconnected", since: `since ${clock(linkSince)}`, last: "",
      down: `No connection to dwatch since ${clock(linkSince)}. What you see is how it was then; trying again …` };
  }
  if (paused) return { state: "paused", title: "Paused", since: `since ${clock(paused)}`, last: count(waiting, "change") + " waiting", down: "" };
  if (store.clusters) return together(store, last);
  const all = [...targets.values()], lost = all.filter((t) => t.state !== "live");
  if (!all.length) return { state: "starting", title: "Starting", since: "", last, down: "" };
  if (!lost.length) return { state: "live", title: "Live", since: watch.since ? `since ${clock(watch.since)}` : "", last, down: "" };
  const worst = lost.find((t) => t.state === "lost" || t.state === "denied") ?? lost[0];
  return { state: lost.length === all.length && worst.state === "lost" ? "lost" : "partly", title: sentences[worst.state] ?? worst.state,
    since: [names(lost.filter((t) => t.state === worst.state)), worst.since ? `since ${clock(worst.since)}` : ""].filter(Boolean).join(" "), last, down: "" };
}

/** rewound is what is known of a time of a recording, or of what dwatch has seen. */
function rewound({ at, unknown, live }, isReading, readingOf) {
  if (isReading) return { state: "starting", title: "Reading", since: readingOf > Date.now() || live && !readingOf ? "" : `at ${moment(readingOf || at)}`, last: "", down: "" };
  const when = `at ${moment(at)}`;
  if (!unknown && live) return { state: "past", title: "Past", since: when, last: "", down: "" };
  if (!unknown) return { state: "live", title: "Recording", since: when, last: "", down: "" };
  const why = unknown.map((g) => `${moment(g.from)} to ${clock(g.to)}, ${whyUnknown(g)}`).join("; ");
  return { state: "partly", title: "Not known", since: when, last: "", down: `What was there at ${moment(at)} is not all known: ${why}.` };
}

/** together is the state of several clusters. */
function together({ clusters, watch }, last) {
  const live = clusters.filter((c) => c.state === "live").length, down = clusters.some((c) => isDown(c));
  if (live === clusters.length && live) return { state: "live", title: "Live", since: watch.since ? `since ${clock(watch.since)}` : "", last, down: "" };
  const state = !down ? "starting" : live ? "partly" : "lost";
  return { state, title: down ? "Connection lost" : "Starting", since: `${live} of ${clusters.length} connected`, last, down: "" };
}

const isDown = (c) => c.state === "lost" || c.state === "denied";

const sentences = { starting: "Starting", lost: "Connection lost", denied: "No right", gone: "Gone" };

function names(targets) {
  const resources = [...new Set(targets.map((t) => t.resource))];
  return visible(resources.length > 2 ? `${resources.length} resources` : resources.join(", "));
}

/** show writes it into the page, and into its title: a tab in the background says it, too. */
export function show(said, title = "dwatch") {
  document.body.dataset.watch = said.state;
  const whole = said.state === "live" ? title : `${said.title} · ${title}`;
  if (document.title !== whole) document.title = whole;
  setText(byId("watch-state"), said.title);
  setText(byId("watch-since"), said.since);
  setText(byId("watch-last"), said.last);
  byId("watch").title = [said.title, said.since, said.last].filter(Boolean).join(" · ");
  const down = byId("down");
  setText(down, said.down);
  down.hidden = !said.down;
}
