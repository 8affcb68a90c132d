// The data source of a file that dwatch export wrote. The file embeds the messages that a viewer would have
// received, and the content of the objects. To show a time, the messages up to that time are replayed.
import { Store } from "./store.js";
import { moment } from "./format.js";
import { compared } from "./compare.js";

/** blocks returns the script elements with one since of embedded data. */
const blocks = (name) => [...document.querySelectorAll(`script.exported-${name}`)];

/** isExported reports whether the page is an exported file. */
export const isExported = blocks("about").length > 0;

/** Limits for the panel of an object: changes, Events, and owned objects whose Events are included. */
const historyLimit = 40, eventLimit = 50, familyLimit = 500;
const needsDwatch = "This file does not contain it: use dwatch serve --from DIR.";

/** decompress returns the text of a block, which is base64 of gzip. */
async function decompress(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

const parseJSON = async (element) => JSON.parse(await decompress(element));
const parseLines = async (element) => (await decompress(element)).split("\n").filter(Boolean).map((text) => JSON.parse(text));

/** Replay is the state of all objects at one time. It starts from the initial messages. */
class Replay extends Store {
  constructor(initial) {
    super();
    this.next = 0; // index of the next message
    this.eventItems = new Map(); // key of an Event -> its item in the panel of an object
    for (const m of structuredClone(initial)) this.apply(m);
  }

  /** append does nothing: Exported.feed builds the feed from the messages. */
  append() {}

  on_told(m) {
    if (m.item) this.eventItems.set(m.key, m.item);
    else this.eventItems.delete(m.key);
  }

  /** advance applies the messages up to a time. */
  advance(messages, until) {
    for (; this.next < messages.length && messages[this.next].at <= until; this.next++) {
      const { message } = messages[this.next];
      if (message.seq) this.seq = message.seq - 1; // accept gaps in the numbers
      // The store changes rows. Copies keep the messages intact for the next replay.
      this.apply({ ...message, ...(message.row && { row: { ...message.row } }), ...(message.watch && { watch: { ...message.watch } }) });
    }
  }

  /** rows returns copies of all rows: existing objects first, then deleted ones in the order of their deletion. */
  rows() {
    const ended = new Set(this.ended);
    return [...[...this.objects.values()].filter((row) => !ended.has(row.key)), ...this.ended.map((key) => this.objects.get(key))].map(copyRow);
  }
}

/** copyRow returns a copy of a row as a snapshot contains it. */
const copyRow = (row) => ({ ...row, place: undefined, text: undefined, fresh: undefined, newCells: null, segments: row.segments.map((s) => [...s]), ticks: [...row.ticks] });

/** Exported is the data source of an exported file. It has the methods of Server (server.js). */
export class Exported {
  constructor({ parameters, onMessage, onState }) {
    Object.assign(this, { parameters, onMessage, onState });
    this.contents = new Map(); // index of a block -> promise of its contents by key
  }

  async start() {
    this.onState("open");
    this.onMessage({ type: "reading" });
    try {
      await this.load();
    } catch (e) {
      const error = typeof DecompressionStream === "undefined" ? "this browser is too old for it" : `the file is damaged (${e.message})`;
      return void this.onMessage({ type: "reading", error });
    }
    this.reconnect();
  }

  async load() {
    this.about = await parseJSON(blocks("about")[0]);
    this.initial = await parseLines(blocks("begin")[0]);
    this.leadUps = await parseJSON(blocks("leadups")[0]);
    this.index = await parseJSON(blocks("index")[0]);
    this.messages = [];
    let at = 0;
    for (const block of blocks("messages")) {
      for (const message of await parseLines(block)) {
        at = Math.max(at, message.time ?? 0);
        this.messages.push({ at, message });
      }
    }
    // A message without a time, such as the columns of a resource, belongs to the next message.
    for (let i = this.messages.length - 2; i >= 0; i--) {
      if (!this.messages[i].message.time) this.messages[i].at = this.messages[i + 1].at;
    }
    this.hello = this.initial.find((m) => m.type === "hello");
  }

  /** reconnect sends the state at the requested time to the page, as a server does after a reconnect. */
  reconnect() {
    if (!this.hello) return; // still loading
    const { past } = this.hello, requested = Number(this.parameters().time) || (past.first ?? past.to);
    const at = Math.max(past.from, Math.min(past.to, requested));
    if (!this.replay || this.at > at) this.replay = new Replay(this.initial);
    this.at = at;
    this.replay.advance(this.messages, at);
    this.onMessage(this.helloMessage());
    this.onMessage({ type: "snapshot", seq: this.replay.seq, part: 0, last: true, rows: this.replay.rows() });
    if (this.replay.problems) this.onMessage(this.replay.problems);
  }

  helloMessage() {
    const { at, replay, hello, about } = this;
    const gaps = about.blind.filter((g) => g.from < at && at < g.to);
    const unknown = gaps.filter((g, i) => gaps.findIndex((other) => other.why === g.why && other.cluster === g.cluster) === i).map((g) => ({ ...g, from: Math.max(g.from, hello.past.from), to: Math.min(g.to, hello.past.to) }));
    return {
      ...hello, seq: replay.seq, stream: `${hello.stream} ${at}`, now: at, resources: [...replay.resources.values()], targets: [...replay.targets.values()], watch: { ...replay.watch },
      ...(hello.clusters && { clusters: hello.clusters.map((c) => withGap(c, unknown)) }),
      past: { ...hello.past, at, ...(unknown.length && { unknown }), exported: { ...about, version: hello.version } },
    };
  }

  drop() { this.reconnect(); }

  /** send answers a filter expression with an error, since the page can't evaluate CEL. */
  send({ id, expr }) {
    if (expr) this.onMessage({ type: "where", id, keys: [], last: true, error: "an expression needs dwatch serve --from DIR" });
    return true;
  }

  /** query answers like the endpoints below /api/ do. */
  async query(path, parameters) {
    if (!this.hello) return { error: "the file is still being read" };
    const answer = await { feed: this.feed, object: this.object, yaml: this.yaml, about: this.events, leadup: this.leadup, before: this.before }[path].call(this, parameters);
    return answer ? { status: 200, stream: `${this.hello.stream} ${this.at}`, ...answer } : { status: 404, error: "there is no object with this key" };
  }

  /** replayed returns the messages up to the displayed time. */
  replayed() { return this.messages.slice(0, this.replay.next).map((m) => m.message); }

  feed({ limit, before = Infinity }) {
    const all = this.replayed().filter((m) => m.feed && m.seq < before), items = all.slice(-limit).reverse();
    return { items: items.map(({ row, ...m }) => m), ...(all.length > items.length && { before: items.at(-1).seq }) };
  }

  /** contentsOf returns the contents of an object up to the displayed time that are in the file (all), and the
   * first content after it (later). */
  async contentsOf(key) {
    const all = [];
    for (const n of this.index[key] ?? []) {
      if (!this.contents.has(n)) this.contents.set(n, parseLines(blocks("contents")[n]).then(groupByKey));
      all.push(...(await this.contents.get(n)).get(key) ?? []);
    }
    all.sort((a, b) => a.t - b.t);
    const past = all.filter((c) => c.t <= this.at);
    return { all: past, later: all[past.length] };
  }

  async object({ key }) {
    const { at, replay } = this, current = replay.objects.get(key), row = current && copyRow(current);
    if (!row) return null;
    const { all, later } = await this.contentsOf(key), last = all.at(-1);
    const changes = this.replayed().filter((m) => m.key === key && m.feed && m.type === "change");
    const answer = { seq: at, row, history: historyOf(changes, row), moments: momentsOf(all), conditions: last && (last.d ?? []), containers: last?.b };
    if (all[0]?.i) answer.conditionsBefore = (all[0].d ?? []).map((c) => ({ ...c, reason: "", message: "" }));
    if (!last) return { ...answer, yamlNote: this.missingContent() };
    return { ...answer, yaml: last.y, yamlCut: last.c, ...(later?.n && later.u && { yamlNote: "Ignored fields may have changed since then." }) };
  }

  /** missingContent explains why the content of an object is not in the file. */
  missingContent() { return `The file does not contain the YAML before ${moment(this.about.contentsBefore)}, because of its size limit.`; }

  async yaml({ key, at, from }) {
    const { all } = await this.contentsOf(key), content = contentAt(all, Number(at)), base = from && contentAt(all, Number(from));
    if (!content || from && !base) return { error: this.about.contentsBefore ? this.missingContent() : "dwatch has no state of the object at that time" };
    const quiet = Math.max(content.u ? content.t : 0, base?.u ? base.t : 0);
    return { time: content.t, yaml: content.y, yamlCut: content.c, ...(quiet && { quiet }), ...(from && compared(base.y, content.y)) };
  }

  /** events returns the Events about an object and the objects that it owns, newest first. */
  events({ key }) {
    const row = this.replay.objects.get(key);
    if (!row) return null;
    if (this.about.events) return { items: [], error: this.about.events };
    const family = [row];
    for (let i = 0; i < family.length && family.length < familyLimit; i++) {
      family.push(...this.replay.children(family[i]).filter((r) => !r.ended && !family.includes(r)));
    }
    const items = family.flatMap((r) => this.replay.eventsOf(r).map((e) => ({ e, item: this.replay.eventItems.get(e.key), own: r === row })));
    return { items: items.filter(({ e, item }) => item && !e.ended).map(({ item, own }) => ({ ...item, about: own ? "" : item.about })).sort((a, b) => b.time - a.time).slice(0, eventLimit) };
  }

  leadup({ key, at }) { return this.leadUps[`${key} ${at}`] ?? { error: needsDwatch }; }

  before() { return { items: [], error: needsDwatch }; }
}

/** withGap returns a cluster, with the state "unknown" if one of the gaps is in it. */
function withGap(c, unknown) {
  const gap = unknown.find((g) => g.cluster === c.name);
  return gap ? { ...c, state: "unknown", since: gap.from, text: gap.why } : c;
}

/** groupByKey returns the contents of a block by key. Each content after the first of an object is stored
 * without the lines that it shares with the previous one at its start (p) and end (s); it is completed here. */
function groupByKey(all) {
  const byKey = new Map();
  let last, lines = [];
  for (const c of all) {
    const same = last?.k === c.k, first = same ? lines.slice(0, c.p ?? 0) : [], rest = same && c.s ? lines.slice(-c.s) : [];
    lines = [...first, ...c.y.split("\n").slice(0, -1), ...rest];
    c.y = lines.join("\n");
    last = c;
    if (same) byKey.get(c.k).push(c);
    else byKey.set(c.k, [c]);
  }
  return byKey;
}

/** momentsOf returns the times of the contents. Contents that only noise changed (n) are left out, except the first. */
const momentsOf = (all) => [...new Set(all.filter((c, i) => !c.n || i === 0).map((c) => c.t))];

/** contentAt returns the content at a time. If only noise changed it afterwards, the result includes that noise. */
function contentAt(all, at) {
  const n = all.findLastIndex((c) => c.t <= at);
  return all[n + 1]?.n ? all[n + 1] : all[n];
}

/** historyOf returns the last changes of an object, and how many older ones are left out (dropped). Of
 * repeated changes, it contains the first and the last, which has their number (times). */
export function historyOf(changes, row) {
  const items = [], repeats = new Set(), firsts = new Set();
  let counted = 0;
  for (let i = changes.length - 1; i >= 0 && items.length < historyLimit; i--) {
    const { row: _, ...m } = changes[i], since = m.times ? m.since : 0;
    if (since && repeats.has(since)) continue;
    items.unshift(m);
    if (since) {
      counted += m.times;
      repeats.add(since);
    } else if (repeats.has(m.time) && !firsts.has(m.time)) firsts.add(m.time); // times of the last repeat includes it
    else counted++;
  }
  return { items, dropped: Math.max(0, (row.changes ?? 0) - counted) };
}
