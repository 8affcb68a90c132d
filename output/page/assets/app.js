// The entry point of the page. Messages are applied to the store at once and drawn a few times per second. User input is
// drawn in the next frame.
import { h, byId, setText, setAttribute } from "./dom.js";
import { count, showUTC, visible } from "./format.js";
import { Clusters } from "./clusters.js";
import { Detail } from "./detail.js";
import { Exported, isExported } from "./exported.js";
import { Feed } from "./feed.js";
import { Filters, cleared } from "./filters.js";
import { Problems } from "./problems.js";
import { Ranking } from "./ranking.js";
import { Server } from "./server.js";
import { Store } from "./store.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";
import { TimeSlider } from "./timeslider.js";
import { timeWindow } from "./axis.js";
import * as keys from "./keys.js";
import * as select from "./select.js";
import * as url from "./url.js";
import * as watch from "./watch.js";

const views = [["table", "Objects"], ["timeline", "Timeline"], ["feed", "Changes"]];
const spans = [[0, "All"], [3600, "1 h"], [900, "15 min"], [300, "5 min"], [60, "1 min"]];
/** How often the page is drawn, and how often a long list of rows is built, in ms. */
const drawInterval = 120, listInterval = 400;
/** rebuildInterval returns how often to repeat something that took a number of ms, so that it takes about 1 % of the time,
 * or more if it took over 25 ms. */
const rebuildInterval = (took) => Math.max(1000, Math.min(3000, 120 * took));
/** How many messages are buffered while the page is paused. With more, it reads everything again afterwards. */
const bufferLimit = 20000;

const store = new Store();
let state = url.read();
const page = {
  link: "", linkSince: 0, linkReason: "", // state of the connection
  disconnectedAt: 0,
  needsSnapshot: false, // messages are missing, so the next connection must not resume
  paused: 0, buffer: [], // time of the pause, and messages since then
  loading: false, loadError: "", helloWaiters: [], // another time is being loaded; resolvers that wait for it
  whereID: 0, // number of the last filter expression
  place: "", // open panel on a small screen, if not a view
  changed: false, forceDraw: false, forceList: false, // what must be drawn
  resyncedAt: 0, // when a snapshot that replaces the previous data began, by performance.now
  listTook: 0, countTook: 0, countedAt: -Infinity,
  unfolded: new Set(), // keys of objects on the timeline whose quiet objects are shown
};

const ranking = new Ranking();
const now = () => page.paused || store.now();

const table = new Table({ store, viewport: byId("list"), heading: byId("heading"), onSelect: (key) => open(key, 0), onFold: fold });
const timeline = new Timeline({ store, table, state: () => state, now, onWindow: (part) => go(part), onOpen: open });
const feed = new Feed({ store, viewport: byId("lines"), button: byId("newest"), onOpen: open, onToggle: () => drawNow() });
const filters = new Filters({ store, panel: byId("filters"), state: () => state, onChange: (part) => go(part, true) });
const clusters = new Clusters({ store, panel: byId("clusters"), state: () => state, onChange: (part) => go(part, true) });
const problems = new Problems({ store, panel: byId("problems"), now, isConnected: () => page.link === "open", selectedClusters: () => state.cluster, onOpen: open, onLeadUp: (key) => { open(key, 0); detail.showLeadUp(); } });
const detail = new Detail({ store, panel: byId("detail"), api, onOpen: open, onClose: () => close(), onEvents: (key, answer) => timeline.warnings.setQueried(key, answer) });
const timeSlider = new TimeSlider({ store, panel: byId("past"), button: byId("back"), onTime: showTime, queryCoverage: () => source.query("held", {}), isConnected: () => page.link === "open", isLoading: () => page.loading });
// The data source: the exported file itself, or a running dwatch.
const source = new (isExported ? Exported : Server)({
  parameters: () => (state.time ? { time: state.time } : {}),
  position: () => (page.needsSnapshot || store.loading ? {} : { stream: store.stream, seq: store.seq }),
  onMessage: receive, onState: setLink,
});

/** api queries data of the displayed time. A failure is an answer with the member error. It waits while another time is
 * being loaded, and repeats the query if the time has changed meanwhile. */
async function api(path, parameters) {
  while (page.loading) await new Promise((resolve) => page.helloWaiters.push(resolve));
  const time = store.hello?.past?.at, answer = await query(path, parameters);
  return page.loading || store.hello?.past?.at !== time ? api(path, parameters) : answer;
}

function query(path, parameters) {
  const time = store.hello ? store.hello.past?.at : state.time;
  return source.query(path, { ...parameters, ...(time && { time }) });
}

// Messages

function receive(message) {
  if (message.type === "reading") {
    Object.assign(page, { loading: true, loadError: message.error ?? "" });
    return schedule();
  }
  if ((message.type === "where" || message.type === "matches") && message.id !== page.whereID) return;
  if (message.type === "where" && message.error) {
    store.setMatching(null); // an invalid expression hides nothing
    page.forceList = true;
    showWhereError(message.error);
    return schedule();
  }
  if (page.paused && ["change", "resource", "watch"].includes(message.type)) {
    if (page.buffer.length < bufferLimit) page.buffer.push(message);
    else page.needsSnapshot = true;
  } else {
    apply(message);
  }
  schedule();
}

function apply(message) {
  if (message.type === "hello") return applyHello(message);
  if (!store.apply(message)) {
    page.needsSnapshot = true;
    return source.drop("a message was missing");
  }
  if (message.type === "change" && message.row && store.objects.has(message.key)) measureRow(store.objects.get(message.key));
  if (message.type === "snapshot") message.rows.forEach(measureRow);
  if (message.type === "snapshot" && message.last) loadFeed();
  page.changed = true;
}

/** measureRow lets the columns of the table grow to the cells of a row. */
const measureRow = (row) => {
  const resource = store.resources.get(row.resource);
  if (resource) table.columns.measure(resource, row);
};

/** applyHello starts a new stream, or resumes the previous one. */
function applyHello(hello) {
  showUTC(Boolean(hello.utc));
  setText(byId("secrets"), hello.secrets ? "Values of Secrets are shown: everyone who can open this page can read them." : "Values of Secrets are masked before they reach this page.");
  const previousStream = store.stream, previousTime = store.hello?.past?.at;
  page.buffer = []; // the server sends these messages again
  Object.assign(page, { needsSnapshot: false, loading: false, loadError: "" });
  page.resyncedAt = previousStream && !hello.resumed ? performance.now() : 0;
  store.apply(hello);
  page.helloWaiters.splice(0).forEach((resolve) => resolve());
  const time = hello.past?.at ?? 0, { wasPast } = page;
  page.wasPast = Boolean(hello.past);
  if (previousTime !== hello.past?.at) {
    ranking.reset();
    page.countedAt = -Infinity;
  }
  if (state.time !== time) go({ time });
  timeSlider.update();
  byId("pause").hidden = Boolean(hello.past);
  if (hello.past || wasPast) detail.reload();
  else if (previousStream && previousStream !== hello.stream) store.note("dwatch was restarted and does not know earlier changes");
  else if (previousStream && !hello.resumed) store.note("connected again; all objects were loaded again, and intermediate states may be missing");
  else if (previousStream && page.disconnectedAt) store.note("connected again; nothing was missed");
  page.disconnectedAt = 0;
  page.title = [visible(hello.title ?? ""), visible(hello.cluster ?? ""), "dwatch"].filter(Boolean).join(" · ");
  const [cluster, title] = byId("scope").children;
  setText(cluster, visible(hello.cluster ?? ""));
  setText(title, visible([hello.cluster && " · ", hello.title].filter(Boolean).join("")));
  byId("scope").title = [hello.cluster, hello.title, hello.server, hello.version].filter(Boolean).join("\n");
  page.changed = true;
  sendWhere();
}

/** loadFeed loads older messages of the feed, page by page, until it reaches messages that the feed already contains. */
async function loadFeed() {
  let before, cut, rounds = 8;
  const known = store.feed.at(-1)?.seq ?? 0, { stream } = store;
  do {
    const answer = await query("feed", { limit: 500, ...(before && { before }) });
    if (answer.error || answer.stream !== stream || stream !== store.stream) return;
    store.addHistory(answer.items ?? []);
    page.changed = true;
    schedule();
    ({ before, cut } = answer);
    if (known && before && before <= known) return;
  } while (before && --rounds);
  feed.isCutOff = Boolean(before || cut);
}

/** setLink stores the state of the connection: "open", "down" or "ended". */
function setLink(link, reason) {
  if (link === "down" && page.link !== "down") {
    page.disconnectedAt = Date.now();
    if (store.stream) store.note(`the page lost its connection to dwatch: ${reason}`);
  }
  if (link !== page.link) page.linkSince = store.now();
  Object.assign(page, { link, linkReason: reason });
  announce(link === "open" ? "Connected" : `Disconnected: ${reason}`);
  if (link === "ended") store.note(reason);
  page.changed = true;
  schedule();
}

/** checkAccess finds out whether the page may not connect, since a WebSocket does not report the HTTP status. */
async function checkAccess() {
  const answer = await query("feed", { limit: 1 });
  if (answer.status !== 401 && answer.status !== 403) return;
  Object.assign(page, { link: "denied", linkReason: "This page needs the address with the token that dwatch printed when it started: open that once, then this link." });
  schedule();
}

// Drawing

let timer = 0, listedAt = 0;

/** schedule draws the page soon. The interval leaves most frames to user input. */
function schedule() {
  if (!timer) timer = setTimeout(() => { timer = 0; requestAnimationFrame(draw); }, drawInterval);
}

function draw() {
  watch.show(watch.describe({ store, ...page, loadingTime: state.time, waiting: page.buffer.length }, store.now()), page.title);
  // While all data is sent again, the previous data stays visible for up to 3 s.
  if (store.loading && page.resyncedAt && performance.now() - page.resyncedAt < 3000) return;
  if (page.paused && !page.forceDraw) return;
  page.forceDraw = false;
  if (page.changed) {
    page.changed = false;
    const signature = JSON.stringify([state.q, state.where, state.cluster, state.kind, state.ns, state.change, state.notready]);
    listIfDue(`${signature}${state.where && store.matching?.size}`);
    feed.update(state, signature + matchingVersion());
    setText(byId("feed-shown"), feed.summary());
    detail.update();
    problems.update();
    clusters.update();
  }
  table.rows.draw();
  timeline.schedule();
}

/** matchingVersion changes when the number of objects that match the filter expression has changed, at most once per
 * second. The feed is rebuilt then. */
function matchingVersion() {
  const at = performance.now(), size = state.where ? store.matching?.size : 0;
  if (size !== page.matching?.size && at - (page.matching?.at ?? -1000) >= 1000) page.matching = { size, at };
  return page.matching?.at ?? 0;
}

/** listIfDue builds the list of rows if it may have changed. Long lists are built less often. */
function listIfDue(signature) {
  const at = performance.now(), due = listedAt + (store.objects.size > 500 ? listInterval : 0);
  countIfDue(at);
  const listSignature = `${signature} ${state.view} ${state.sort} ${state.span} ${state.until} ${store.membership} ${ranking.version}`;
  // Changes of an object can move or hide it, and deleted objects disappear after some time.
  const isVolatile = (state.sort && state.sort !== "name") || state.notready || state.q || state.view === "timeline" || store.ended.length > 0;
  if (listSignature === page.listSignature && !page.forceList && (!isVolatile || at - listedAt < rebuildInterval(page.listTook))) return;
  if (at < due && !page.forceList) {
    page.changed = true;
    return schedule();
  }
  page.forceList = false;
  page.listSignature = listSignature;
  listedAt = at;
  list();
  page.listTook = performance.now() - at;
}

/** countIfDue updates the counts and ranks of all objects. It is due sooner if objects were added or deleted. */
function countIfDue(at) {
  const hasNewMembers = page.countedMembership !== store.membership;
  if (at - page.countedAt < (hasNewMembers ? 250 : rebuildInterval(page.countTook)) && !page.forceList) return;
  page.countedAt = at;
  page.countedMembership = store.membership;
  store.manyNamespaces = table.manyNamespaces = filters.update() > 1;
  ranking.update(store.objects, at, store.loading);
  page.countTook = performance.now() - at;
}

/** list builds the rows of the table or of the timeline. */
function list() {
  const items = state.view === "timeline" ? timelineItems() : select.table(store, state, now(), ranking);
  table.selected = state.object;
  table.show(items, state.view === "timeline" ? "timeline" : "table");
  const objects = items.filter((item) => item.key).length;
  setText(byId("shown"), countText(objects));
  explainEmpty(objects);
}

/** timelineItems returns the items of the timeline. A newly selected object is unfolded. */
function timelineItems() {
  const build = () => select.timeline(store, state, timeWindow(state, timeline.oldest, now()), page.unfolded);
  const items = build();
  if (!state.object || page.unfoldedFor === state.object) return items;
  page.unfoldedFor = state.object;
  if (items.some((item) => item.key === state.object)) return items;
  for (let row = store.objects.get(state.object), up = 0; (row = row && store.owner(row)) && up < 16; up++) page.unfolded.add(row.key);
  return build();
}

/** countText describes the number of objects that are shown. */
function countText(objects) {
  const all = store.objects.size - store.ended.length;
  const isFiltered = select.filter(state, store).active;
  if (state.view === "timeline") return count(objects, "object");
  return isFiltered ? `${objects.toLocaleString("en")} of ${count(all, "object")}` : count(all, "object");
}

/** explainEmpty explains an empty list. */
function explainEmpty(objects) {
  const element = byId("nothing");
  element.hidden = objects > 0;
  if (objects) return;
  const { past } = store.hello ?? {};
  setText(element, store.loading ? "Reading objects …"
    : select.filter(state, store).active ? "No object matches these filters."
      : past ? (past.unknown ? "The objects at this time are unknown." : "No objects at this time.") : "No objects yet. New objects appear here.");
}

/** drawNow draws everything in the next frame, after user input. */
function drawNow() {
  page.changed = page.forceDraw = page.forceList = true;
  requestAnimationFrame(draw);
}

// User input

/** go changes a part of the state, and the URL. If addsHistory is set, the browser's Back button returns to the previous
 * state. */
function go(part, addsHistory = false) {
  const before = state;
  state = { ...state, ...part };
  if (url.write(before) !== url.write(state)) url.go(state, addsHistory);
  if (state.where !== before.where) sendWhere();
  showState(before);
  drawNow();
}

/** showState updates the controls to the state. before is the previous state, if there was one. */
function showState(before) {
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

/** fold shows the quiet objects below an object on the timeline, or folds them again. */
function fold(key) {
  if (!page.unfolded.delete(key)) page.unfolded.add(key);
  drawNow();
}

/** open opens an object, and selects its change at a time. */
function open(key, at) {
  go({ object: key, at }, key !== state.object);
}

/** showTime shows another time. 0 means the present. */
function showTime(time) {
  const before = state.time;
  if (page.paused && time) pause();
  go({ time });
  if (time !== before) reload();
}

/** reload requests all data again, since another time is to be shown. */
function reload() {
  Object.assign(page, { needsSnapshot: true, loading: true, loadError: "" });
  schedule();
  source.reconnect();
}

function close() {
  const hadFocus = byId("detail").contains(document.activeElement);
  go({ object: "", at: 0 });
  if (hadFocus) byId("list").focus({ preventScroll: true });
}

/** sendWhere sends the filter expression to the source. */
function sendWhere() {
  page.whereID++;
  store.setMatching(state.where ? new Set() : null);
  showWhereError("");
  source.send({ type: "where", id: page.whereID, expr: state.where });
}

function showWhereError(text) {
  setText(byId("where-error"), visible(text));
  setAttribute(byId("where"), "aria-invalid", text ? "true" : null);
  page.changed = true;
}

function pause() {
  page.paused = page.paused ? 0 : store.now();
  setAttribute(byId("pause"), "aria-pressed", Boolean(page.paused));
  setText(byId("pause"), page.paused ? "Go on" : "Pause");
  announce(page.paused ? "Paused" : "Goes on");
  if (!page.paused) catchUp();
  drawNow();
}

/** catchUp applies the messages that were buffered during a pause. */
function catchUp() {
  if (page.needsSnapshot) return source.reconnect();
  const { buffer } = page;
  page.buffer = [];
  buffer.forEach(apply);
}

/** actions are the actions of keys (keys.js). */
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
  minute: (by) => timeSlider.step(by),
  zoom: (factor) => (factor ? timeline.shown && timeline.zoom(factor) : go({ span: 0, until: 0 })),
  fold: () => state.view === "timeline" && table.isFoldable(state.object) && fold(state.object),
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

/** freezeRows keeps the rows in place while the mouse is over them, a finger is on them, or they are scrolled. */
function freezeRows() {
  const list = byId("list");
  let isHovered = false, isTouched = false;
  const update = () => {
    const frozen = isHovered || isTouched || list.scrollTop > 0;
    if (frozen === ranking.frozen) return;
    ranking.frozen = frozen;
    if (frozen) return;
    page.countedAt = -Infinity;
    page.changed = true;
    schedule();
  };
  list.addEventListener("pointerenter", (e) => { isHovered = e.pointerType === "mouse"; update(); });
  list.addEventListener("pointerleave", () => { isHovered = false; update(); });
  list.addEventListener("pointerdown", (e) => { isTouched = e.pointerType !== "mouse"; update(); });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { isTouched = false; update(); });
  list.addEventListener("scroll", update, { passive: true });
}

/** announce makes screen readers read a text. */
function announce(text) { setText(byId("said"), text); }

let announcedID = 0; // ID of the last message in the feed that is included in an announcement

/** announceChanges announces only the number of new changes, since single changes would be too many. */
function announceChanges() {
  const id = store.feed.at(-1)?.id ?? 0;
  if (announcedID && id > announcedID && !page.paused) announce(count(id - announcedID, "new change"));
  announcedID = id;
}

/** build creates the buttons of the page, and connects all controls. */
function build() {
  const button = (className, [value, label], action) => h("button", { type: "button", value: String(value), class: className, onclick: action }, label);
  byId("views").append(...views.map((v) => button("", v, () => actions.view(v[0]))));
  byId("zoom").append(...spans.map((s) => button("", s, () => go({ span: s[0], until: 0 }))), button("now", [-1, "Now"], () => go({ until: 0 })));
  byId("places").append(...views.map((v) => button("", v, () => actions.view(v[0]))),
    button("", ["filters", "Filters"], () => { page.place = page.place ? "" : "filters"; go({}); }));
  keys.fillHelp(byId("keys"), [
    "The address contains the current view: share it to show others the same.",
    "Zoom the timeline with Ctrl and the wheel, or with two fingers. Drag it to move it and the feed. Click a tick to open the change.",
    h("span", { id: "secrets" }),
  ]);
  if (isExported) {
    byId("where").disabled = true;
    byId("where").placeholder = byId("where").title = "needs dwatch serve --from";
  }
  let typingTimer = 0;
  for (const id of ["q", "where"]) {
    byId(id).addEventListener("input", (e) => {
      clearTimeout(typingTimer);
      typingTimer = setTimeout(() => go({ [id]: e.target.value.trim() }), id === "q" ? 120 : 500);
    });
  }
  byId("search").addEventListener("submit", (e) => e.preventDefault());
  byId("sort").addEventListener("change", (e) => go({ sort: e.target.value }, true));
  byId("pause").addEventListener("click", pause);
  freezeRows();
  byId("help").addEventListener("click", actions.help);
  addEventListener("popstate", () => {
    const before = state;
    state = url.read();
    if (state.where !== before.where) sendWhere();
    if (state.time !== before.time) reload();
    showState(before);
    drawNow();
  });
  addEventListener("resize", () => { page.forceList = page.changed = true; page.listSignature = ""; schedule(); });
  keys.listen(actions);
}

build();
showState();
source.start();
// Ages increase and highlights end without messages.
setInterval(() => { page.changed = true; timeSlider.tick(); schedule(); }, 1000);
setInterval(announceChanges, 5000);
setInterval(() => page.link === "down" && checkAccess(), 2000);
