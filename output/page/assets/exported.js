// What the page knows is in this file, which dwatch export has made: the messages that a viewer would have got, from the
// begin on, and the contents of objects. A time is shown by going through them up to it.
import { Store } from "./store.js";
import { moment } from "./format.js";
import { compared } from "./compare.js";

const blocks = (name) => [...document.querySelectorAll(`script.exported-${name}`)];

/** isExported reports whether this is such a file. */
export const isExported = blocks("about").length > 0;

/** How many changes of an object its panel has at most, how many Events, and below how many objects these are looked for. */
const mostHistory = 40, mostEvents = 50, mostFamily = 500;
const needsDwatch = "It is not in this file: dwatch serve --from DIR has it.";

/** unpack reads the text of a block. */
async function unpack(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

const parsed = async (element) => JSON.parse(await unpack(element));
const linesOf = async (element) => (await unpack(element)).split("\n").filter(Boolean).map((text) => JSON.parse(text));

/** Moment is what was there at a time, by the messages up to it. */
class Moment extends Store {
  constructor(begin) {
    super();
    this.next = 0; // which message comes next
    this.says = new Map(); // keys of Events -> what they say
    for (const m of structuredClone(begin)) this.apply(m);
  }

  /** append: the feed is made of the messages. */
  append() {}

  on_told(m) {
    if (m.item) this.says.set(m.key, m.item);
    else this.says.delete(m.key);
  }

  /** goOn takes the messages up to a time. */
  goOn(messages, until) {
    for (; this.next < messages.length && messages[this.next].at <= until; this.next++) {
      const { message } = messages[this.next];
      if (message.seq) this.seq = message.seq - 1; // none is missing
      // They are gone through again, and so are left as they are.
      this.apply({ ...message, ...(message.row && { row: { ...message.row } }), ...(message.watch && { watch: { ...message.watch } }) });
    }
  }

  /** rows are copies of those that are there, and behind them of those that are over, in this order. */
  rows() {
    const over = new Set(this.ended);
    return [...[...this.objects.values()].filter((row) => !over.has(row.key)), ...this.ended.map((key) => this.objects.get(key))].map(copied);
  }
}

/** copied is a row as a snapshot has it. */
const copied = (row) => ({ ...row, place: undefined, text: undefined, fresh: undefined, newCells: null, segments: row.segments.map((s) => [...s]), ticks: [...row.ticks] });

/** Exported has the methods of Server. */
export class Exported {
  constructor({ parameters, onMessage, onState }) {
    Object.assign(this, { parameters, onMessage, onState });
    this.contents = new Map(); // number of a block -> what it has
  }

  async start() {
    this.onState("open");
    this.onMessage({ type: "reading" });
    try {
      await this.read();
    } catch (e) {
      const old = typeof DecompressionStream === "undefined" ? "this browser is too old for it" : `the file is damaged (${e.message})`;
      return void this.onMessage({ type: "reading", error: old });
    }
    this.again();
  }

  async read() {
    this.about = await parsed(blocks("about")[0]);
    this.begin = await linesOf(blocks("begin")[0]);
    this.leadUps = await parsed(blocks("leadups")[0]);
    this.index = await parsed(blocks("index")[0]);
    this.messages = [];
    let at = 0;
    for (const block of blocks("messages")) {
      for (const message of await linesOf(block)) {
        at = Math.max(at, message.time ?? 0);
        this.messages.push({ at, message });
      }
    }
    // What has no time, such as the columns of a resource, came for what is next.
    for (let i = this.messages.length - 2; i >= 0; i--) {
      if (!this.messages[i].message.time) this.messages[i].at = this.messages[i + 1].at;
    }
    this.hello = this.begin.find((m) => m.type === "hello");
  }

  /** again shows what was there at the time that is asked for. */
  again() {
    if (!this.hello) return; // it is still read
    const { past } = this.hello, asked = Number(this.parameters().time) || (past.first ?? past.to);
    const at = Math.max(past.from, Math.min(past.to, asked));
    if (!this.moment || this.at > at) this.moment = new Moment(this.begin);
    this.at = at;
    this.moment.goOn(this.messages, at);
    this.onMessage(this.greeting());
    this.onMessage({ type: "snapshot", seq: this.moment.seq, part: 0, last: true, rows: this.moment.rows() });
    if (this.moment.problems) this.onMessage(this.moment.problems);
  }

  greeting() {
    const { at, moment: m, hello, about } = this;
    const blind = about.blind.filter((g) => g.from < at && at < g.to);
    const unknown = blind.filter((g, i) => blind.findIndex((other) => other.why === g.why && other.cluster === g.cluster) === i).map((g) => ({ ...g, from: Math.max(g.from, hello.past.from), to: Math.min(g.to, hello.past.to) }));
    return {
      ...hello, seq: m.seq, stream: `${hello.stream} ${at}`, now: at, resources: [...m.resources.values()], targets: [...m.targets.values()], watch: { ...m.watch },
      ...(hello.clusters && { clusters: hello.clusters.map((c) => stateOf(c, unknown)) }),
      past: { ...hello.past, at, ...(unknown.length && { unknown }), exported: { ...about, version: hello.version } },
    };
  }

  lost() { this.again(); }

  /** send answers an expression, which nothing here can evaluate. */
  send({ id, expr }) {
    if (expr) this.onMessage({ type: "where", id, keys: [], last: true, error: "an expression needs dwatch serve --from DIR" });
    return true;
  }

  /** ask answers as the server does. */
  async ask(path, parameters) {
    if (!this.hello) return { error: "it is still read" };
    const answer = await { feed: this.feed, object: this.object, yaml: this.yaml, about: this.happened, leadup: this.leadup, before: this.before }[path].call(this, parameters);
    return answer ? { status: 200, stream: `${this.hello.stream} ${this.at}`, ...answer } : { status: 404, error: "there is no object with this key" };
  }

  /** shown are the messages up to the time that is shown. */
  shown() { return this.messages.slice(0, this.moment.next).map((m) => m.message); }

  feed({ limit, before = Infinity }) {
    const all = this.shown().filter((m) => m.feed && m.seq < before), items = all.slice(-limit).reverse();
    return { items: items.map(({ row, ...m }) => m), ...(all.length > items.length && { before: items.at(-1).seq }) };
  }

  /** contentsOf are the contents of an object up to the time that is shown, as far as the file has them. */
  async contentsOf(key) {
    const all = [];
    for (const n of this.index[key] ?? []) {
      if (!this.contents.has(n)) this.contents.set(n, linesOf(blocks("contents")[n]).then(grouped));
      all.push(...(await this.contents.get(n)).get(key) ?? []);
    }
    all.sort((a, b) => a.t - b.t);
    const there = all.filter((c) => c.t <= this.at);
    return { all: there, later: all[there.length] };
  }

  async object({ key }) {
    const { at, moment: m } = this, held = m.objects.get(key), row = held && copied(held);
    if (!row) return null;
    const { all, later } = await this.contentsOf(key), last = all.at(-1);
    const changes = this.shown().filter((m) => m.key === key && m.feed && m.type === "change");
    const answer = { seq: at, row, history: historyOf(changes, row), moments: momentsOf(all), conditions: last && (last.d ?? []), containers: last?.b };
    if (all[0]?.i) answer.conditionsBefore = (all[0].d ?? []).map((c) => ({ ...c, reason: "", message: "" }));
    if (!last) return { ...answer, yamlNote: this.lacking() };
    return { ...answer, yaml: last.y, yamlCut: last.c, ...(later?.n && later.u && { yamlNote: "What does not count as a change may have become otherwise since." }) };
  }

  /** lacking says why a content is not there. */
  lacking() { return `How it was before ${moment(this.about.contentsBefore)} is not in this file: there was no room for it.`; }

  async yaml({ key, at, from }) {
    const { all } = await this.contentsOf(key), of = contentAt(all, Number(at)), than = from && contentAt(all, Number(from));
    if (!of || from && !than) return { error: this.about.contentsBefore ? this.lacking() : "how the object was before dwatch saw it is not known" };
    const quiet = Math.max(of.u ? of.t : 0, than?.u ? than.t : 0);
    return { time: of.t, yaml: of.y, yamlCut: of.c, ...(quiet && { quiet }), ...(from && compared(than.y, of.y)) };
  }

  /** happened are the Events about an object and what it owns. */
  happened({ key }) {
    const row = this.moment.objects.get(key);
    if (!row) return null;
    if (this.about.events) return { items: [], error: this.about.events };
    const family = [row];
    for (let i = 0; i < family.length && family.length < mostFamily; i++) {
      family.push(...this.moment.children(family[i]).filter((r) => !r.ended && !family.includes(r)));
    }
    const items = family.flatMap((r) => this.moment.eventsOf(r).map((e) => ({ e, item: this.moment.says.get(e.key), own: r === row })));
    return { items: items.filter(({ e, item }) => item && !e.ended).map(({ item, own }) => ({ ...item, about: own ? "" : item.about })).sort((a, b) => b.time - a.time).slice(0, mostEvents) };
  }

  leadup({ key, at }) { return this.leadUps[`${key} ${at}`] ?? { error: needsDwatch }; }

  before() { return { items: [], error: needsDwatch }; }
}

/** stateOf is one of several clusters, with whether it is known what was there. */
function stateOf(c, unknown) {
  const gap = unknown.find((g) => g.cluster === c.name);
  return gap ? { ...c, state: "unknown", since: gap.from, text: gap.why } : c;
}

/** grouped are contents by their objects, each whole. */
function grouped(all) {
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

/** momentsOf are the times from which contents are, without those that are noise. */
const momentsOf = (all) => [...new Set(all.filter((c, i) => !c.n || i === 0).map((c) => c.t))];

/** contentAt is the content at a time, with the noise that followed up to the next change. */
function contentAt(all, at) {
  const n = all.findLastIndex((c) => c.t <= at);
  return all[n + 1]?.n ? all[n + 1] : all[n];
}

/** historyOf are the last changes of an object, of those that are alike the first and the last. */
export function historyOf(changes, row) {
  const items = [], later = new Set(), firsts = new Set();
  let told = 0;
  for (let i = changes.length - 1; i >= 0 && items.length < mostHistory; i--) {
    const { row: _, ...m } = changes[i], kind = m.times ? m.since : 0;
    if (kind && later.has(kind)) continue;
    items.unshift(m);
    if (kind) {
      told += m.times;
      later.add(kind);
    } else if (later.has(m.time) && !firsts.has(m.time)) firsts.add(m.time); // the last of those that are alike has counted it
    else told++;
  }
  return { items, dropped: Math.max(0, (row.changes ?? 0) - told) };
}
