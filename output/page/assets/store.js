// The state that the page has received: objects with their history, the feed of changes, and the state of the
// watches. It applies the messages that docs/reference/page-api.md describes, and has no part in how they are displayed.
import { moment } from "./format.js";

/** Limits of the feed: messages and characters. Older messages are dropped, and the page reports that. */
export const feedLimit = 5000;
const textLimit = 20e6;
/** The share of both limits that is reserved for follow-up changes. */
const followUpShare = 0.2;
/** Limits for deleted rows, and for the history of a row, if hello does not contain any. */
const defaultLimits = { ended: 1000, history: 40, segments: 50, ticks: 100 };

const states = { Current: "current", InProgress: "progress", Failed: "failed", Terminating: "terminating", Warning: "warning" };

/** statusClass returns the CSS class of a kstatus, or of the type of an Event. */
export const statusClass = (state) => `is-${states[state] ?? "unknown"}`;

export class Store {
  constructor() {
    this.clockOffset = 0; // clock of dwatch minus local clock, in ms
    this.reset();
  }

  /** reset discards everything, before a complete snapshot. */
  reset() {
    this.stream = "";
    this.seq = 0;
    this.hello = null;
    this.loading = true; // until the last part of the snapshot has arrived
    this.limits = defaultLimits;
    this.resources = new Map(); // id -> resource
    this.targets = new Map(); // targetKey -> target: what is watched, and whether it is connected
    this.clusters = null; // the state of each cluster; null if there is only one
    this.watch = { state: "starting", since: 0, lastEvent: 0 };
    this.objects = new Map(); // key -> row
    this.byUID = new Map(); // scoped uid -> key
    this.owned = new Map(); // scoped uid of an owner -> set of keys
    this.eventsByObject = new Map(); // scoped uid of the involved object -> set of keys of Events
    this.ended = []; // keys of deleted objects, in the order of their deletion
    this.order = []; // rows by resource, cluster, namespace, name
    this.dirty = true; // order must be sorted
    this.membership = 0; // version: increases when an object is added, deleted or forgotten
    this.problems = null; // the last problems message; null if there was none
    this.matching = null; // keys of the objects that match the filter expression; null if there is no expression
    this.clearFeed();
  }

  clearFeed() {
    this.feed = []; // messages, oldest first
    this.feedText = 0; // characters in the feed
    this.followUps = { count: 0, text: 0 }; // follow-up changes in the feed, and their characters
    this.feedDropped = 0; // number of dropped messages
    this.feedVersion = 0; // increases when messages change that were already in the feed
  }

  /** now returns the displayed time: that of the slider, or the present by the clock of dwatch. */
  now() { return this.hello?.past?.at ?? Date.now() + this.clockOffset; }

  /** startText describes since when the data is complete. */
  startText() { return this.hello?.past ? moment(this.hello.started) : "dwatch started"; }

  /** apply applies a message. It returns false if a message before it is missing. */
  apply(message) {
    if (["change", "resource", "watch"].includes(message.type)) {
      if (message.seq <= this.seq) return true; // a repetition
      if (!this.loading && message.seq > this.seq + 1) return false;
      this.seq = message.seq;
    }
    this[`on_${message.type}`]?.(message);
    return true;
  }

  on_hello(m) {
    this.clockOffset = m.now - Date.now();
    if (!m.resumed) {
      const { feed, feedText, followUps, feedDropped, feedVersion, stream } = this;
      this.reset();
      if (m.stream === stream) Object.assign(this, { feed, feedText, followUps, feedDropped }); // the feed of the same run stays valid
      this.feedVersion = feedVersion + 1;
      this.stream = m.stream;
      this.seq = m.seq;
    }
    this.hello = m;
    this.limits = { ...defaultLimits, ...m.limits };
    // Resources are in the order of the command line.
    const requested = m.targets.map((t) => t.resource);
    const position = (r) => (requested.includes(r.id) ? requested.indexOf(r.id) : requested.length);
    this.resources = new Map(m.resources.sort((a, b) => position(a) - position(b)).map((r) => [r.id, r]));
    this.targets = new Map(m.targets.map((t) => [targetKey(t), t]));
    this.clusters = m.clusters ?? null;
    this.watch = m.watch;
  }

  on_clusters(m) { this.clusters = m.items; }

  /** color returns the number of the colour of a cluster. */
  color(cluster) { return this.clusters?.find((c) => c.name === cluster)?.color ?? 0; }

  on_snapshot(m) {
    if (m.part === 0) this.seq = m.seq;
    for (const row of m.rows) {
      const previous = this.objects.get(row.key);
      if (!previous || previous.seq <= row.seq) this.put(row, previous);
    }
    if (m.last) this.loading = false;
  }

  on_resource(m) { this.resources.set(m.resource.id, m.resource); }

  on_watch(m) {
    if (m.event === "LEFT") this.removeTarget(m);
    else if (m.target) this.setTarget(m.target);
    if (m.watch) this.watch = m.watch;
    if (m.feed) this.append(m);
  }

  /** removeTarget removes a target that is no longer watched, and its existing objects. */
  removeTarget({ target: t, seq }) {
    this.targets.delete(targetKey(t));
    for (const row of this.objects.values()) {
      if (!row.ended && row.seq < seq && isOf(row, t)) this.forget(row.key);
    }
  }

  /** setTarget stores the state of a target. A target without a name replaces the targets of single objects in it. */
  setTarget(t) {
    for (const [key, other] of this.targets) {
      if (!t.name && other.name && other.resource === t.resource && other.cluster === t.cluster && other.namespace === t.namespace) this.targets.delete(key);
    }
    this.targets.set(targetKey(t), t);
  }

  /** staleSince returns the time, in ms, of the data of a resource whose watch is not connected, or 0 if it is current.
   * namespace and cluster are optional. */
  staleSince(resource, namespace, cluster) {
    let oldest = 0;
    for (const t of this.targets.values()) {
      if (t.resource !== resource || t.state !== "lost" && t.state !== "denied" || namespace !== undefined && t.namespace && t.namespace !== namespace) continue;
      if (cluster && t.cluster !== cluster) continue;
      const heard = t.heard || t.since;
      oldest = oldest ? Math.min(oldest, heard) : heard;
    }
    return oldest;
  }

  on_problems(m) { this.problems = m; }

  on_ping(m) {
    this.clockOffset = m.now - Date.now();
    if (m.lastEvent) this.watch = { ...this.watch, lastEvent: m.lastEvent };
  }

  on_change(m) {
    this.watch.lastEvent = Math.max(this.watch.lastEvent ?? 0, m.time);
    const previous = this.objects.get(m.key);
    if (previous ? m.seq > previous.seq : m.row?.key) this.change(m, previous);
    if (m.feed) {
      // A feed entry describes the object at that time, so it must not share the current row.
      const { row, ...entry } = m;
      entry.created = this.objects.get(m.key)?.created;
      this.append(entry);
    }
  }

  /** change replaces a row. m.row is a complete row, or only the members that differ from the previous row, with null
   * for members that are gone. */
  change(m, previous) {
    const counts = m.feed && { changed: m.time, changes: (previous?.changes ?? 0) + 1 };
    const row = m.row?.key ? m.row : { ...previous, text: undefined, ...counts, ...m.row, seq: m.seq }; // text is the cached search text
    for (const name in m.row) if (m.row[name] === null) delete row[name];
    row.segments = previous?.segments ?? [];
    row.ticks = previous?.ticks ?? [];
    row.segmentsMore = previous?.segmentsMore;
    row.ticksMore = previous?.ticksMore;
    const state = row.status.state;
    if (row.segments.at(-1)?.[1] !== state) row.segments.push([m.time, state]);
    if (m.feed) row.ticks.push(m.time);
    keepLast(row, "segments", this.limits.segments);
    keepLast(row, "ticks", this.limits.ticks);
    if (m.feed) row.fresh = performance.now();
    row.newCells = previous && m.feed ? changedCells(previous.cells, row.cells) : null;
    this.put(row, previous);
  }

  /** put stores the row of an object, in place of the previous one if there is one. */
  put(row, previous) {
    row.segments ??= [];
    row.ticks ??= [];
    row.namespace ??= "";
    row.cluster ??= "";
    this.objects.set(row.key, row);
    if (previous) {
      row.place = previous.place;
      this.order[previous.place] = row;
    } else {
      this.add(row);
    }
    if (row.ended && !previous?.ended) this.end(row);
  }

  /** add indexes the row of a new object. place is its index in order. */
  add(row) {
    row.place = this.order.push(row) - 1;
    this.dirty = true;
    this.membership++;
    if (row.uid) this.byUID.set(within(row, row.uid), row.key);
    for (const owner of row.owners ?? []) addTo(this.owned, within(row, owner.uid), row.key);
    if (row.about) addTo(this.eventsByObject, within(row, row.about.uid), row.key);
  }

  /** end notes that an object was deleted, and forgets the oldest deleted objects above the limit. */
  end(row) {
    this.membership++;
    this.ended.push(row.key);
    while (this.ended.length > this.limits.ended) this.forget(this.ended.shift());
  }

  /** forget removes a row. */
  forget(key) {
    const row = this.objects.get(key);
    if (!row) return;
    this.objects.delete(key);
    if (this.byUID.get(within(row, row.uid)) === key) this.byUID.delete(within(row, row.uid));
    for (const owner of row.owners ?? []) dropFrom(this.owned, within(row, owner.uid), key);
    if (row.about) dropFrom(this.eventsByObject, within(row, row.about.uid), key);
    this.matching?.delete(key); // the server sends no matches for deleted objects
    row.forgotten = true;
    this.dirty = true;
    this.membership++;
  }

  /** sorted returns all rows by resource (in the order of the command line), cluster, namespace and name. */
  sorted() {
    if (!this.dirty) return this.order;
    const position = new Map([...this.resources.keys()].map((id, i) => [id, i]));
    this.order = this.order.filter((row) => !row.forgotten).sort((a, b) =>
      (position.get(a.resource) ?? 1e9) - (position.get(b.resource) ?? 1e9) ||
      compare(a.cluster, b.cluster) || compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.key, b.key));
    this.order.forEach((row, i) => { row.place = i; });
    this.dirty = false;
    return this.order;
  }

  /** append appends a message to the feed. */
  append(message) {
    message.id = ++lastID;
    this.feed.push(message);
    this.account(message, 1);
    this.trimFeed();
  }

  /** account updates the sizes of the feed for a message that is added (1) or dropped (-1). */
  account(m, sign) {
    const text = sign * textOf(m);
    this.feedText += text;
    if (!isFollowUp(m)) return;
    this.followUps.count += sign;
    this.followUps.text += text;
  }

  /** trimFeed drops messages until the feed is within its limits: the oldest follow-ups while they exceed their share,
   * and otherwise the oldest of the other messages. */
  trimFeed() {
    while (this.feed.length > feedLimit || this.feedText > textLimit) {
      const { count, text } = this.followUps;
      const dropsFollowUp = count > followUpShare * feedLimit || text > followUpShare * textLimit;
      const [m] = this.feed.splice(Math.max(0, this.feed.findIndex((m) => isFollowUp(m) === dropsFollowUp)), 1);
      m.dropped = true;
      this.account(m, -1);
      this.feedDropped++;
    }
  }

  /** kind returns the lower-case kind of a resource, as in pod/web-1. */
  kind(id) { return (this.resources.get(id)?.kind ?? id).toLowerCase(); }

  /** note appends a message of the page itself to the feed. */
  note(text) {
    this.append({ type: "watch", event: "PAGE", time: this.now(), text });
  }

  /** addHistory inserts older messages (newest first) that the feed does not contain yet. */
  addHistory(items) {
    const known = new Set(this.feed.map((m) => m.seq));
    const missing = items.filter((m) => !known.has(m.seq)).reverse();
    if (!missing.length) return;
    for (const m of missing) {
      m.id = ++lastID;
      m.created = this.objects.get(m.key)?.created;
      this.account(m, 1);
    }
    // Notes of the page have no sequence number and are sorted by time.
    this.feed = [...missing, ...this.feed].sort((a, b) => a.seq && b.seq ? a.seq - b.seq : a.time - b.time);
    this.feedVersion++;
    this.trimFeed();
  }

  /** setMatching sets the keys that match the filter expression. null means no expression, or an invalid one. */
  setMatching(keys) { this.matching = keys; }

  on_where(m) {
    if (m.keys) this.matching = new Set([...(this.matching ?? []), ...m.keys]);
  }

  on_matches(m) {
    this.matching ??= new Set();
    for (const key of m.in ?? []) this.matching.add(key);
    for (const key of m.out ?? []) this.matching.delete(key);
  }

  /** children returns the rows of the objects that an object owns, including deleted ones. */
  children(row) {
    const keys = this.owned.get(within(row, row.uid));
    return keys ? [...keys].map((key) => this.objects.get(key)).filter(Boolean) : [];
  }

  /** eventsOf returns the rows of the Events about an object. The kubelet uses the name of a node as its UID. */
  eventsOf(row) {
    if (!this.eventsByObject.size) return [];
    const keys = [row.uid, this.kind(row.resource) === "node" ? row.name : ""].flatMap((uid) => [...(uid && this.eventsByObject.get(within(row, uid)) || [])]);
    return keys.map((key) => this.objects.get(key)).filter(Boolean);
  }

  /** find returns the row of the object with a UID in the cluster of a row. */
  find(row, uid) { return this.objects.get(this.byUID.get(within(row, uid))); }

  /** owner returns the row of the first owner that is watched. */
  owner(row) {
    for (const owner of row.owners ?? []) {
      const found = this.find(row, owner.uid);
      if (found && found !== row) return found;
    }
    return undefined;
  }
}

const addTo = (map, name, key) => (map.has(name) ? map.get(name).add(key) : map.set(name, new Set([key])));
const dropFrom = (map, name, key) => map.get(name)?.delete(key) && !map.get(name).size && map.delete(name);

let lastID = 0;

/** isFollowUp reports whether a message is a change that was not intentional, such as what a controller did. */
const isFollowUp = (m) => m.type === "change" && !m.meant;

/** textOf estimates the number of characters of a message. */
function textOf(m) {
  return (m.changes ?? []).reduce((sum, c) => sum + c.path.length + (c.old?.length ?? 0) + (c.new?.length ?? 0), 200);
}

/** within returns a UID scoped to the cluster of a row, since UIDs are only unique within a cluster. */
const within = (row, uid) => (row.cluster ? `${row.cluster}/${uid}` : uid);

/** isOf reports whether an object belongs to a target. */
const isOf = (row, t) => row.resource === t.resource && (row.cluster ?? "") === (t.cluster ?? "") &&
  (!t.namespace || t.namespace === row.namespace) && (!t.name || t.name === row.name);

const targetKey = (t) => `${t.cluster ?? ""}/${t.resource}/${t.namespace ?? ""}/${t.name ?? ""}`;

export const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** keepLast drops the oldest entries of a list above the limit, and counts them in nameMore. */
function keepLast(row, name, limit) {
  const surplus = row[name].length - limit;
  if (surplus <= 0) return;
  row[name].splice(0, surplus);
  row[`${name}More`] = (row[`${name}More`] ?? 0) + surplus;
}

/** changedCells returns the indexes of the cells that differ, or null if there are none. */
function changedCells(before, now) {
  if (!before || !now) return null;
  const indexes = now.map((_, i) => i).filter((i) => now[i] !== before[i]);
  return indexes.length ? indexes : null;
}
