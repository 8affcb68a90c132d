// The page: it puts the parts together. What comes is taken into the store at once, and
// shown some times a second; what a hand does is shown in the next frame.
import { h, byId, setText, setAttribute } from "./dom.js";
import { count, showUTC, visible } from "./format.js";
import { Clusters } from "./clusters.js";
import { Detail } from "./detail.js";
import { Exported, isExported } from "./exported.js";
import { Feed } from "./feed.js";
import { Past } from "./past.js";
import { Problems } from "./problems.js";
import { Filters, cleared } from "./filters.js";
import { Server } from "./server.js";
import { Ranking } from "./ranking.js";
import { Store } from "./store.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";
import { timeWindow } from "./axis.js";
import * as keys from "./keys.js";
import * as select from "./select.js";
import * as url from "./url.js";
import * as watch from "./watch.js";

const views = [["table", "Objects"], ["timeline", "Timeline"], ["feed", "Changes"]];
const spans = [[0, "All"], [3600, "1 h"], [900, "15 min"], [300, "5 min"], [60, "1 min"]];
/** How often what comes is shown, in ms; and how often a list of thousands is made anew. */
const showEvery = 120, listEvery = 400;
/** seldom is after how long something is made anew that took so long: it holds up one frame in a hundred, or fewer. */
const seldom = (took) => Math.max(1000, Math.min(3000, 120 * took));
/** How much waits while the page is paused; more, and it begins anew. */
const mostWaiting = 20000;

const store = new Store();
let state = url.read();
const page = { link: "", linkSince: 0, linkWhy: "", paused: 0, waiting: [], waitingForHello: [], lost: false, whereID: 0, place: "", shownAll: 0, counted: -Infinity, reading: false, listTook: 0, countTook: 0, unfolded: new Set() };

const ranking = new Ranking();
const now = () => page.paused || store.now();

const table = new Table({ store, viewport: byId("list"), heading: byId("heading"), onSelect: (key) => open(key, 0), onFold: fold });
const timeline = new Timeline({ store, table, state: () => state, now, onWindow: (w) => go(w), onOpen: open });
const feed = new Feed({ store, viewport: byId("lines"), button: byId("newest"), onOpen: open, onToggle: () => showNow() });
const filters = new Filters({ store, panel: byId("filters"), state: () => state, onChange: (part) => go(part, true) });
const clusters = new Clusters({ store, panel: byId("clusters"), state: () => state, onChange: (part) => go(part, true) });
const problems = new Problems({ store, panel: byId("problems"), now, linked: () => page.link === "open", chosen: () => state.cluster, onOpen: open, onLeadUp: (key) => { open(key, 0); detail.showLeadUp(); } });
const detail = new Detail({ store, panel: byId("detail"), api, onOpen: open, onClose: () => close(), onEvents: (key, answer) => timeline.warnings.ask(key, answer) });
const past = new Past({ store, panel: byId("past"), button: byId("back"), onTime: rewind, ask: () => source.query("held", {}), isLinked: () => page.link === "open", isReading: () => page.reading });
// Where all comes from: a file that has it, or dwatch.
const source = new (isExported ? Exported : Server)({
  parameters: () => (state.time ? { time: state.time } : {}),
  position: () => (page.lost || store.loading ? {} : { stream: store.stream, seq: store.seq }),
  onMessage: take, onState: linkState,
});

/** api asks the source about what is shown; its answer always is an object, perhaps with an error. While another
 * time is read, it asks nothing; what it asked of the one before, it asks anew. */
async function api(path, parameters) {
  while (page.reading) await new Promise((greeted) => page.waitingForHello.push(greeted));
  const time = store.hello?.past?.at, answer = await ask(path, parameters);
  return page.reading || store.hello?.past?.at !== time ? api(path, parameters) : answer;
}

function ask(path, parameters) {
  const time = store.hello ? store.hello.past?.at : state.time;
  return source.query(path, { ...parameters, ...(time && { time }) });
}

// What comes

function take(message) {
  if (message.type === "reading") {
    Object.assign(page, { reading: true, unread: message.error ?? "" });
    return soon();
  }
  if ((message.type === "where" || message.type === "matches") && message.id !== page.whereID) return;
  if (message.type === "where" && message.error) {
    store.setMatching(null); // what is wrong selects nothing, and hides nothing
    page.forceList = true;
    whereError(message.error);
    return soon();
  }
  if (page.paused && ["change", "resource", "watch"].includes(message.type)) {
    if (page.waiting.length < mostWaiting) page.waiting.push(message);
    else page.lost = true; // too much: it is asked for anew when the page goes on
  } else {
    applyNow(message);
  }
  soon();
}

function applyNow(message) {
  if (message.type === "hello") return greet(message);
  if (!store.apply(message)) {
    page.lost = true; // a number is missing: what is held can't be trusted
    return source.drop("a message was missing");
  }
  if (message.type === "change" && message.row && store.objects.has(message.key)) measure(store.objects.get(message.key));
  if (message.type === "snapshot") message.rows.forEach(measure);
  if (message.type === "snapshot" && message.last) askPast();
  page.changed = true;
}

const measure = (row) => {
  const resource = store.resources.get(row.resource);
  if (resource) table.columns.measure(resource, row);
};

function greet(hello) {
  showUTC(Boolean(hello.utc));
  setText(byId("secrets"), hello.secrets ? "Values of Secrets are shown, as far as dwatch has them: who sees this page reads them." : "Values of Secrets are masked before they come here.");
  const before = store.stream;
  const shownBefore = store.hello?.past?.at;
  page.waiting = []; // it comes again, or is in what is there
  Object.assign(page, { lost: false, reading: false, unread: "" });
  page.shownAll = before && !hello.resumed ? performance.now() : 0;
  store.apply(hello);
  page.waitingForHello.splice(0).forEach((greeted) => greeted());
  const shown = hello.past?.at ?? 0, { rewound } = page;
  page.rewound = Boolean(hello.past);
  if (shownBefore !== hello.past?.at) {
    ranking.reset();
    page.counted = -Infinity;
  }
  if (state.time !== shown) go({ time: shown });
  past.show();
  byId("pause").hidden = Boolean(hello.past);
  if (hello.past || rewound) detail.reload();
  else if (before && before !== hello.stream) store.note("dwatch was started again: what happened before is not known to it");
  else if (before && !hello.resumed) store.note("connected again; all was read anew, and states in between may be missing");
  else if (before && page.downSince) store.note("connected again; nothing was missed");
  page.downSince = 0;
  page.title = [visible(hello.title ?? ""), visible(hello.cluster ?? ""), "dwatch"].filter(Boolean).join(" · ");
  const [cluster, title] = byId("scope").children;
  setText(cluster, visible(hello.cluster ?? ""));
  setText(title, visible([hello.cluster && " · ", hello.title].filter(Boolean).join("")));
  byId("scope").title = [hello.cluster, hello.title, hello.server, hello.version].filter(Boolean).join("\n");
  page.changed = true;
  sendWhere();
}

/** askPast reads what the feed does not have: at the start, and after a snapshot. */
async function askPast() {
  let before, cut, rounds = 8;
  const known = store.feed.at(-1)?.seq ?? 0, { stream } = store;
  do {
    const answer = await ask("feed", { limit: 500, ...(before && { before }) });
    if (answer.error || answer.stream !== stream || stream !== store.stream) return;
    store.addHistory(answer.items ?? []);
    page.changed = true;
    soon();
    ({ before, cut } = answer);
    if (known && before && before <= known) return;
  } while (before && --rounds);
  feed.isCutOff = Boolean(before || cut);
}

function linkState(link, why) {
  if (link === "down" && page.link !== "down") {
    page.downSince = Date.now();
    if (store.stream) store.note(`the page lost its connection to dwatch: ${why}`);
  }
  if (link !== page.link) page.linkSince = store.now();
  Object.assign(page, { link, linkWhy: why });
  say(link === "open" ? "Connected" : `Disconnected: ${why}`);
  if (link === "ended") store.note(why);
  page.changed = true;
  soon();
}

/** whyDenied finds out what a WebSocket does not tell: that the page has no right. */
async function whyDenied() {
  const answer = await ask("feed", { limit: 1 });
  if (answer.status !== 401 && answer.status !== 403) return;
  Object.assign(page, { link: "denied", linkWhy: "This page needs the address with the token that dwatch printed when it started: open that once, then this link." });
  soon();
}

// What is shown

let timer = 0, listed = 0;

/** soon shows what came, a few times a second: so many frames are free for hands. */
function soon() {
  if (!timer) timer = setTimeout(() => { timer = 0; requestAnimationFrame(show); }, showEvery);
}

function show() {
  watch.show(watch.describe({ store, ...page, readingOf: state.time, waiting: page.waiting.length }, store.now()), page.title);
  // While all is read anew, what was there stays, greyed by nothing: it is soon replaced.
  if (store.loading && page.shownAll && performance.now() - page.shownAll < 3000) return;
  if (page.paused && !page.force) return;
  page.force = false;
  if (page.changed) {
    page.changed = false;
    const signature = JSON.stringify([state.q, state.where, state.cluster, state.kind, state.ns, state.change, state.notready]);
    listIfDue(`${signature}${state.where && store.matching?.size}`);
    feed.update(state, signature + matchingNow());
    setText(byId("feed-shown"), feed.summary());
    detail.update();
    problems.update();
    clusters.update();
  }
  table.rows.draw();
  timeline.soon();
}

/** matchingNow goes up where an expression holds of others than before, once a second: the
 * feed is made anew then. */
function matchingNow() {
  const at = performance.now(), size = state.where ? store.matching?.size : 0;
  if (size !== page.matching?.size && at - (page.matching?.at ?? -1000) >= 1000) page.matching = { size, at };
  return page.matching?.at ?? 0;
}

/** listIfDue makes the list of rows anew, if it can have become another. Long lists wait
 * a little longer for that. */
function listIfDue(signature) {
  const at = performance.now(), due = listed + (store.objects.size > 500 ? listEvery : 0);
  countIfDue(at);
  const whole = `${signature} ${state.view} ${state.sort} ${state.span} ${state.until} ${store.membership} ${ranking.version}`;
  // What is sorted or filtered by what changes, and what is about to leave.
  const moving = (state.sort && state.sort !== "name") || state.notready || state.q || state.view === "timeline" || store.ended.length > 0;
  if (whole === page.listSignature && !page.forceList && (!moving || at - listed < seldom(page.listTook))) return;
  if (at < due && !page.forceList) {
    page.changed = true;
    return soon();
  }
  page.forceList = false;
  page.listSignature = whole;
  listed = at;
  list();
  page.listTook = performance.now() - at;
}

/** countIfDue counts anew: soon where objects came or went, else once a second, or more seldom where it takes long. */
function countIfDue(at) {
  const came = page.countedMembership !== store.membership;
  if (at - page.counted < (came ? 250 : seldom(page.countTook)) && !page.forceList) return;
  page.counted = at;
  page.countedMembership = store.membership;
  store.manyNamespaces = table.manyNamespaces = filters.update() > 1;
  ranking.update(store.objects, at, store.loading);
  page.countTook = performance.now() - at;
}

function list() {
  const items = state.view === "timeline" ? lanes() : select.table(store, state, now(), ranking);
  table.selected = state.object;
  table.show(items, state.view === "timeline" ? "timeline" : "table");
  const objects = items.filter((item) => item.key).length;
  setText(byId("shown"), shownText(objects));
  sayNothing(objects);
}

/** lanes are the rows of the timeline. What is chosen is not folded, however it was chosen. */
function lanes() {
  const all = () => select.timeline(store, state, timeWindow(state, timeline.oldest, now()), page.unfolded);
  const items = all();
  if (!state.object || page.chosen === state.object) return items;
  page.chosen = state.object;
  if (items.some((item) => item.key === state.object)) return items;
  for (let row = store.objects.get(state.object), up = 0; (row = row && store.owner(row)) && up < 16; up++) page.unfolded.add(row.key);
  return all();
}

function shownText(objects) {
  const all = store.objects.size - store.ended.length;
  const filtered = select.filter(state, store).active;
  if (state.view === "timeline") return count(objects, "object");
  return filtered ? `${objects.toLocaleString("en")} of ${count(all, "object")}` : count(all, "object");
}

function sayNothing(objects) {
  const element = byId("nothing");
  element.hidden = objects > 0;
  if (objects) return;
  const { past } = store.hello ?? {};
  setText(element, store.loading ? "Reading what is there …"
    : select.filter(state, store).active ? "Nothing fits these filters."
      : past ? (past.unknown ? "What was there is not known." : "Nothing was there.") : "Nothing there yet. It appears here as soon as it is.");
}

/** showNow is for what a hand did. */
function showNow() {
  page.changed = page.force = page.forceList = true;
  requestAnimationFrame(show);
}

// What hands do

/** go changes the state, and with it the address; step says that back leads here again. */
function go(part, step = false) {
  const before = state;
  state = { ...state, ...part };
  if (url.write(before) !== url.write(state)) url.go(state, step);
  if (state.where !== before.where) sendWhere();
  reflect(before);
  showNow();
}

/** reflect writes the state into what shows it. */
function reflect(before) {
  document.body.dataset.view = state.view;
  document.body.dataset.place = page.place;
  for (const button of [...byId("views").children, ...byId("places").children]) {
    setAttribute(button, "aria-pressed", button.value === (page.place || state.view));
  }
  for (const button of byId("zoom").children) {
    setAttribute(button, "aria-pressed", Number(button.value) === state.span && !state.until);
    if (button.className === "now") button.hidden = !state.until;
  }
  if (state.until !== (before?.until ?? 0)) feed.scrollToTime(state.until);
  for (const id of ["q", "where", "sort"]) {
    if (byId(id) !== document.activeElement || !before) byId(id).value = state[id];
  }
  if (state.object) showObject(before);
  else if (!byId("detail").hidden) hideObject();
}

function showObject(before) {
  byId("detail").hidden = false;
  document.querySelector("main").classList.add("with-detail");
  if (!before || before.object !== state.object || before.at !== state.at || !detail.key) detail.open(state.object, state.at);
  table.select(state.object, !before || before.object !== state.object);
}

function hideObject() {
  byId("detail").hidden = true;
  document.querySelector("main").classList.remove("with-detail");
  detail.close();
  table.select("", false);
}

/** fold shows what is quiet below an object on the timeline, or folds it again. */
function fold(key) {
  if (!page.unfolded.delete(key)) page.unfolded.add(key);
  showNow();
}

function open(key, at) {
  go({ object: key, at }, key !== state.object);
}

/** rewind shows another time; 0: the present. */
function rewind(time) {
  const before = state.time;
  if (page.paused && time) pause();
  go({ time });
  if (time !== before) readAgain();
}

/** readAgain asks for all anew: what is held is of another time. */
function readAgain() {
  Object.assign(page, { lost: true, reading: true, unread: "" });
  soon();
  source.reconnect();
}

function close() {
  const hadFocus = byId("detail").contains(document.activeElement);
  go({ object: "", at: 0 });
  if (hadFocus) byId("list").focus({ preventScroll: true });
}

function sendWhere() {
  page.whereID++;
  store.setMatching(state.where ? new Set() : null);
  whereError("");
  source.send({ type: "where", id: page.whereID, expr: state.where });
}

function whereError(text) {
  setText(byId("where-error"), visible(text));
  setAttribute(byId("where"), "aria-invalid", text ? "true" : null);
  page.changed = true;
}

function pause() {
  page.paused = page.paused ? 0 : store.now();
  setAttribute(byId("pause"), "aria-pressed", Boolean(page.paused));
  setText(byId("pause"), page.paused ? "Go on" : "Pause");
  say(page.paused ? "Paused" : "Goes on");
  if (!page.paused) catchUp();
  showNow();
}

function catchUp() {
  if (page.lost) return source.reconnect();
  const waiting = page.waiting;
  page.waiting = [];
  waiting.forEach(applyNow);
}

const actions = {
  search: () => { byId("q").focus(); byId("q").select(); },
  where: () => { byId("where").focus(); byId("where").select(); },
  move: (by) => {
    const key = table.step(by);
    if (key) go({ object: key, at: 0 });
    if (byId("list") !== document.activeElement && !byId("detail").contains(document.activeElement)) byId("list").focus({ preventScroll: true });
  },
  list: () => byId("list").focus(),
  open: () => byId("detail").querySelector("h2")?.focus(),
  view: (view) => { page.place = ""; go({ view }, true); },
  step: (by) => {
    const at = state.view === "timeline" && timeline.stepTick(by);
    if (at) go({ at });
    return Boolean(at);
  },
  minute: (by) => past.step(by),
  zoom: (factor) => (factor ? timeline.shown && timeline.zoom(factor) : go({ span: 0, until: 0 })),
  fold: () => state.view === "timeline" && table.folds(state.object) && fold(state.object),
  notready: () => go({ notready: !state.notready }, true),
  pause,
  help: () => byId("keys").showModal(),
  escape: (event) => {
    if (byId("keys").open) return;
    const field = event.target.closest?.("#search input");
    if (field) {
      if (field.value) go({ [field.id]: (field.value = "") });
      else byId("list").focus();
    } else if (state.object) {
      close();
    } else if (select.filter(state, store).active) {
      go(cleared, true);
    }
  },
};

/** holdRows keeps the rows where they are while a mouse is over them, a finger on them, or they are scrolled. */
function holdRows() {
  const list = byId("list");
  let over = false, touched = false;
  const update = () => {
    const held = over || touched || list.scrollTop > 0;
    if (held === ranking.frozen) return;
    ranking.frozen = held;
    if (held) return;
    page.counted = -Infinity;
    page.changed = true;
    soon();
  };
  list.addEventListener("pointerenter", (e) => { over = e.pointerType === "mouse"; update(); });
  list.addEventListener("pointerleave", () => { over = false; update(); });
  list.addEventListener("pointerdown", (e) => { touched = e.pointerType !== "mouse"; update(); });
  for (const ends of ["pointerup", "pointercancel"]) addEventListener(ends, () => { touched = false; update(); });
  list.addEventListener("scroll", update, { passive: true });
}

// Screen readers are told a little, now and then, and not each change.
let spoken = 0;
function say(text) { setText(byId("said"), text); }
function speak() {
  const id = store.feed.at(-1)?.id ?? 0;
  if (spoken && id > spoken && !page.paused) say(count(id - spoken, "new change"));
  spoken = id;
}

function build() {
  const button = (className, [value, label], action) => h("button", { type: "button", value: String(value), class: className, onclick: action }, label);
  byId("views").append(...views.map((v) => button("", v, () => actions.view(v[0]))));
  byId("zoom").append(...spans.map((s) => button("", s, () => go({ span: s[0], until: 0 }))), button("now", [-1, "Now"], () => go({ until: 0 })));
  byId("places").append(...views.map((v) => button("", v, () => actions.view(v[0]))),
    button("", ["filters", "Filters"], () => { page.place = page.place ? "" : "filters"; go({}); }));
  keys.fillHelp(byId("keys"), [
    "The address holds what you look at: send it, and others see the same.",
    "Ctrl and the wheel, or two fingers, zoom the timeline; a drag moves it, and the feed with it; a click on a tick leads to the change.",
    h("span", { id: "secrets" }),
  ]);
  if (isExported) {
    byId("where").disabled = true;
    byId("where").placeholder = byId("where").title = "needs dwatch serve --from";
  }
  let typing = 0;
  for (const id of ["q", "where"]) {
    byId(id).addEventListener("input", (e) => {
      clearTimeout(typing);
      typing = setTimeout(() => go({ [id]: e.target.value.trim() }), id === "q" ? 120 : 500);
    });
  }
  byId("search").addEventListener("submit", (e) => e.preventDefault());
  byId("sort").addEventListener("change", (e) => go({ sort: e.target.value }, true));
  byId("pause").addEventListener("click", pause);
  holdRows();
  byId("help").addEventListener("click", actions.help);
  addEventListener("popstate", () => {
    const before = state;
    state = url.read();
    if (state.where !== before.where) sendWhere();
    if (state.time !== before.time) readAgain();
    reflect(before);
    showNow();
  });
  addEventListener("resize", () => { page.forceList = page.changed = true; page.listSignature = ""; soon(); });
  keys.listen(actions);
}

build();
reflect();
source.start();
// Ages go on, and highlights end, also when nothing comes.
setInterval(() => { page.changed = true; past.follow(); soon(); }, 1000);
setInterval(speak, 5000);
setInterval(() => page.link === "down" && whyDenied(), 2000);
