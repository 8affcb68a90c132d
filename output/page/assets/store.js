// What dwatch has said so far: the objects, what became of them, and the watch itself.
// It takes messages as docs/page.md has them, and knows nothing of how they look.
import { moment } from "./format.js";

/** How many changes the feed holds, and how much text in all. Older ones are dropped, and
 * that is said. */
export const mostChanges = 5000;
const mostText = 20e6;
/** The share of it that is kept for changes which nobody meant. */
const leastFollowed = 0.2;
/** How many rows, segments and ticks of what is over are held if hello does not say. */
const fallbackLimits = { ended: 1000, history: 40, segments: 50, ticks: 100 };

const states = { Current: "current", InProgress: "progress", Failed: "failed", Terminating: "terminating", Warning: "warning" };

/** statusClass is the class by which the style sheet knows a kstatus, or what an Event is. */
export const statusClass = (state) => `is-${states[state] ?? "unknown"}`;

export class Store {
  constructor() {
    this.clockOffset = 0;
    this.drop();
  }

  /** drop forgets everything: another run of dwatch, or a snapshot from the beginning. */
  drop() {
    this.stream = "";
    this.seq = 0;
    this.hello = null;
    this.loading = true; // until the last part of the snapshot
    this.limits = fallbackLimits;
    this.resources = new Map(); // id -> RESOURCE
    this.targets = new Map();
    this.clusters = null; // how each of several is; null: it is one
    this.watch = { state: "starting", since: 0, lastEvent: 0 };
    this.objects = new Map(); // key -> row
    this.byUID = new Map(); // uid in a cluster -> key
    this.owned = new Map(); // uid of an owner in a cluster -> Set of keys
    this.told = new Map(); // uid of what an Event is about in a cluster -> Set of keys of Events
    this.ended = []; // keys in the order of their end
    this.order = []; // rows by resource, cluster, namespace, name
    this.dirty = true; // order has to be sorted
    this.membership = 0; // goes up whenever an object comes, goes or ends
    this.problems = null; // what needs a look, as the last message about it says; null: not known
    this.matching = null; // keys of which the expression holds
    this.clearFeed();
  }

  clearFeed() {
    this.feed = []; // messages, oldest first
    this.feedText = 0; // characters in it
    this.followed = { count: 0, text: 0 }; // what of it nobody meant
    this.feedDropped = 0;
    this.feedVersion = 0; // goes up when what is there already becomes another
  }

  /** now is the time by the clock of dwatch, or the one that is shown of a recording. */
  now() { return this.hello?.past?.at ?? Date.now() + this.clockOffset; }

  /** began says since when all is seen that is shown. */
  began() { return this.hello?.past ? moment(this.hello.started) : "dwatch started"; }

  /** apply takes a message. It returns false if a number is missing before it. */
  apply(message) {
    if (["change", "resource", "watch"].includes(message.type)) {
      if (message.seq <= this.seq) return true; // it came already
      if (!this.loading && message.seq > this.seq + 1) return false;
      this.seq = message.seq;
    }
    this[`on_${message.type}`]?.(message);
    return true;
  }

  on_hello(m) {
    this.clockOffset = m.now - Date.now();
    if (!m.resumed) {
      const { feed, feedText, followed, feedDropped, feedVersion, stream } = this;
      this.drop();
      if (m.stream === stream) Object.assign(this, { feed, feedText, followed, feedDropped }); // of the same run: it stays true
      this.feedVersion = feedVersion + 1;
      this.stream = m.stream;
      this.seq = m.seq;
    }
    this.hello = m;
    this.limits = { ...fallbackLimits, ...m.limits };
    const asked = m.targets.map((t) => t.resource);
    const place = (r) => (asked.includes(r.id) ? asked.indexOf(r.id) : asked.length);
    this.resources = new Map(m.resources.sort((a, b) => place(a) - place(b)).map((r) => [r.id, r]));
    this.targets = new Map(m.targets.map((t) => [targetKey(t), t]));
    this.clusters = m.clusters ?? null;
    this.watch = m.watch;
  }

  on_clusters(m) { this.clusters = m.items; }

  /** color is the number of the colour of a cluster. */
  color(cluster) { return this.clusters?.find((c) => c.name === cluster)?.color ?? 0; }

  on_snapshot(m) {
    if (m.part === 0) this.seq = m.seq;
    for (const row of m.rows) {
      const held = this.objects.get(row.key);
      if (!held || held.seq <= row.seq) this.put(row, held);
    }
    if (m.last) this.loading = false;
  }

  on_resource(m) { this.resources.set(m.resource.id, m.resource); }

  on_watch(m) {
    if (m.event === "LEFT") this.leave(m);
    else if (m.target) this.setTarget(m.target);
    if (m.watch) this.watch = m.watch;
    if (m.feed) this.append(m);
  }

  /** leave lets go of the objects of a target that are there: nothing more is heard of them. */
  leave({ target: t, seq }) {
    this.targets.delete(targetKey(t));
    for (const row of this.objects.values()) {
      if (!row.ended && row.seq < seq && isOf(row, t)) this.forget(row.key);
    }
  }

  /** setTarget takes how a target is, which has the place of those that are part of it. */
  setTarget(t) {
    for (const [key, other] of this.targets) {
      if (!t.name && other.name && other.resource === t.resource && other.cluster === t.cluster && other.namespace === t.namespace) this.targets.delete(key);
    }
    this.targets.set(targetKey(t), t);
  }

  /** asOf is of when the objects of a resource are, of one namespace and one cluster where these are given:
   * of when the server was last heard, if there is no connection; 0: of now. */
  asOf(resource, namespace, cluster) {
    let at = 0;
    for (const t of this.targets.values()) {
      if (t.resource !== resource || t.state !== "lost" && t.state !== "denied" || namespace !== undefined && t.namespace && t.namespace !== namespace) continue;
      if (cluster && t.cluster !== cluster) continue;
      const heard = t.heard || t.since;
      at = at ? Math.min(at, heard) : heard;
    }
    return at;
  }

  on_problems(m) { this.problems = m; }

  on_ping(m) {
    this.clockOffset = m.now - Date.now();
    if (m.lastEvent) this.watch = { ...this.watch, lastEvent: m.lastEvent };
  }

  on_change(m) {
    this.watch.lastEvent = Math.max(this.watch.lastEvent ?? 0, m.time);
    const held = this.objects.get(m.key);
    if (held ? m.seq > held.seq : m.row?.key) this.change(m, held);
    if (m.feed) {
      // In the feed stands how it was then, and not how it is now.
      const { row, ...entry } = m;
      entry.created = this.objects.get(m.key)?.created;
      this.append(entry);
    }
  }

  /** change puts the row of a change in place of the one held: all of it, or what of that has become
   * another (null: it is gone), and what follows from the message. */
  change(m, held) {
    const told = m.feed && { changed: m.time, changes: (held?.changes ?? 0) + 1 };
    const row = m.row?.key ? m.row : { ...held, text: undefined, ...told, ...m.row, seq: m.seq }; // text is what it is found by
    for (const name in m.row) if (m.row[name] === null) delete row[name];
    row.segments = held?.segments ?? [];
    row.ticks = held?.ticks ?? [];
    row.segmentsMore = held?.segmentsMore;
    row.ticksMore = held?.ticksMore;
    const state = row.status.state;
    if (row.segments.at(-1)?.[1] !== state) row.segments.push([m.time, state]);
    if (m.feed) row.ticks.push(m.time);
    keepLast(row, "segments", this.limits.segments);
    keepLast(row, "ticks", this.limits.ticks);
    if (m.feed) row.fresh = performance.now();
    row.newCells = held && m.feed ? differing(held.cells, row.cells) : null;
    this.put(row, held);
  }

  /** put makes row the one that is held of its object. */
  put(row, held) {
    row.segments ??= [];
    row.ticks ??= [];
    row.namespace ??= "";
    row.cluster ??= "";
    this.objects.set(row.key, row);
    if (held) {
      row.place = held.place;
      this.order[held.place] = row;
    } else {
      this.enter(row);
    }
    if (row.ended && !held?.ended) this.end(row);
  }

  enter(row) {
    row.place = this.order.push(row) - 1;
    this.dirty = true;
    this.membership++;
    if (row.uid) this.byUID.set(within(row, row.uid), row.key);
    for (const owner of row.owners ?? []) addTo(this.owned, within(row, owner.uid), row.key);
    if (row.about) addTo(this.told, within(row, row.about.uid), row.key);
  }

  /** end notes that an object is no more, and forgets those that ended long ago. */
  end(row) {
    this.membership++;
    this.ended.push(row.key);
    while (this.ended.length > this.limits.ended) this.forget(this.ended.shift());
  }

  forget(key) {
    const row = this.objects.get(key);
    if (!row) return;
    this.objects.delete(key);
    if (this.byUID.get(within(row, row.uid)) === key) this.byUID.delete(within(row, row.uid));
    for (const owner of row.owners ?? []) dropFrom(this.owned, within(row, owner.uid), key);
    if (row.about) dropFrom(this.told, within(row, row.about.uid), key);
    this.matching?.delete(key); // it is not told of what is over
    row.forgotten = true;
    this.dirty = true;
    this.membership++;
  }

  /** sorted is all rows, by resource (in the order they were asked for), cluster, namespace, name. */
  sorted() {
    if (!this.dirty) return this.order;
    const place = new Map([...this.resources.keys()].map((id, i) => [id, i]));
    this.order = this.order.filter((row) => !row.forgotten).sort((a, b) =>
      (place.get(a.resource) ?? 1e9) - (place.get(b.resource) ?? 1e9) ||
      compare(a.cluster, b.cluster) || compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.key, b.key));
    this.order.forEach((row, i) => { row.place = i; });
    this.dirty = false;
    return this.order;
  }

  /** append puts a message at the end of the feed. */
  append(message) {
    message.id = ++lastID;
    this.feed.push(message);
    this.weigh(message, 1);
    if (this.feed.length > mostChanges || this.feedText > mostText) this.shorten();
  }

  /** weigh counts a message of the feed that came (1), or goes (-1). */
  weigh(m, sign) {
    const text = sign * textOf(m);
    this.feedText += text;
    if (!isFollowed(m)) return;
    this.followed.count += sign;
    this.followed.text += text;
  }

  /** shorten drops what only followed before what somebody meant, but for the share of it. */
  shorten() {
    while (this.feed.length > mostChanges || this.feedText > mostText) {
      const { count, text } = this.followed;
      const more = count > leastFollowed * mostChanges || text > leastFollowed * mostText;
      const [m] = this.feed.splice(Math.max(0, this.feed.findIndex((m) => isFollowed(m) === more)), 1);
      m.dropped = true;
      this.weigh(m, -1);
      this.feedDropped++;
    }
  }

  /** kind is how a resource is called in front of a name. */
  kind(id) { return (this.resources.get(id)?.kind ?? id).toLowerCase(); }

  /** note is a line of the page's own in the feed: about itself. */
  note(text) {
    this.append({ type: "watch", event: "PAGE", time: this.now(), text });
  }

  /** addPast puts in its place what the feed does not have yet (newest first, as it comes). */
  addPast(items) {
    const known = new Set(this.feed.map((m) => m.seq));
    const missing = items.filter((m) => !known.has(m.seq)).reverse();
    if (!missing.length) return;
    for (const m of missing) {
      m.id = ++lastID;
      m.created = this.objects.get(m.key)?.created;
      this.weigh(m, 1);
    }
    // The page's own lines have no number: they stay by their time.
    this.feed = [...missing, ...this.feed].sort((a, b) => a.seq && b.seq ? a.seq - b.seq : a.time - b.time);
    this.feedVersion++;
    this.shorten();
  }

  /** where takes the answer to an expression; null: there is none, or it is wrong. */
  where(keys) { this.matching = keys; }

  // What the page sends over the socket has answers; connection.js says which are new.
  on_where(m) {
    if (m.keys) this.matching = new Set([...(this.matching ?? []), ...m.keys]);
  }

  on_matches(m) {
    this.matching ??= new Set();
    for (const key of m.in ?? []) this.matching.add(key);
    for (const key of m.out ?? []) this.matching.delete(key);
  }

  /** children are the rows of what an object owns, and of what it owned. */
  children(row) {
    const keys = this.owned.get(within(row, row.uid));
    return keys ? [...keys].map((key) => this.objects.get(key)).filter(Boolean) : [];
  }

  /** eventsOf are the rows of the Events about an object. A kubelet calls a node by its name. */
  eventsOf(row) {
    if (!this.told.size) return [];
    const keys = [row.uid, this.kind(row.resource) === "node" ? row.name : ""].flatMap((uid) => [...(uid && this.told.get(within(row, uid)) || [])]);
    return keys.map((key) => this.objects.get(key)).filter(Boolean);
  }

  /** held is the row of an object with a UID in the cluster of another row. */
  held(row, uid) { return this.objects.get(this.byUID.get(within(row, uid))); }

  /** owner is the row of the first owner that is watched. */
  owner(row) {
    for (const owner of row.owners ?? []) {
      const held = this.held(row, owner.uid);
      if (held && held !== row) return held;
    }
    return undefined;
  }
}

const addTo = (map, name, key) => (map.has(name) ? map.get(name).add(key) : map.set(name, new Set([key])));
const dropFrom = (map, name, key) => map.get(name)?.delete(key) && !map.get(name).size && map.delete(name);

let lastID = 0;

/** isFollowed says of a message of the feed that nobody meant it. */
const isFollowed = (m) => m.type === "change" && !m.meant;

/** textOf is about how many characters a message of the feed holds. */
function textOf(m) {
  return (m.changes ?? []).reduce((sum, c) => sum + c.path.length + (c.old?.length ?? 0) + (c.new?.length ?? 0), 200);
}

/** within is a UID in the cluster of a row: another cluster may have the same. */
const within = (row, uid) => (row.cluster ? `${row.cluster}/${uid}` : uid);

/** isOf reports whether an object is one of those of a target. */
const isOf = (row, t) => row.resource === t.resource && (row.cluster ?? "") === (t.cluster ?? "") &&
  (!t.namespace || t.namespace === row.namespace) && (!t.name || t.name === row.name);

const targetKey = (t) => `${t.cluster ?? ""}/${t.resource}/${t.namespace ?? ""}/${t.name ?? ""}`;

export const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function keepLast(row, name, most) {
  const surplus = row[name].length - most;
  if (surplus <= 0) return;
  row[name].splice(0, surplus);
  row[`${name}More`] = (row[`${name}More`] ?? 0) + surplus;
}

/** differing are the places of the cells that are others now. */
function differing(before, now) {
  if (!before || !now) return null;
  const places = now.map((_, i) => i).filter((i) => now[i] !== before[i]);
  return places.length ? places : null;
}
