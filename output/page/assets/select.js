// Which objects and changes are shown: pure functions of what is held and of the state
// in the address.
import { compare } from "./store.js";
import { times } from "./warnings.js";

/** How long an object that was deleted stays in the table. */
export const farewell = 8000;

const worse = { Failed: 0, Warning: 0, Terminating: 1, InProgress: 2, Unknown: 3, Current: 4 };

/** whoWord begins a word of the search that is about who wrote. */
const whoWord = "who:";

/** filter is the state, prepared for many questions. */
export function filter(state, store) {
  const typed = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const words = typed.filter((word) => !word.startsWith(whoWord));
  const who = typed.filter((word) => word.startsWith(whoWord)).map((word) => word.slice(whoWord.length)).filter(Boolean);
  const isBy = (names, name) => names.some((by) => by?.toLowerCase().includes(name));
  const byAll = (names) => who.every((name) => isBy(names, name));
  let writers; // by key: who made the changes that are held
  const wrote = (key) => (writers ??= writersOf(store.feed)).get(key) ?? [];
  const clusters = new Set(state.cluster), kinds = new Set(state.kind), namespaces = new Set(state.ns), events = new Set(state.change);
  const matching = state.where ? store.matching : null;
  const ofObject = (key, resource, namespace, cluster) =>
    (!clusters.size || clusters.has(cluster ?? "")) &&
    (!kinds.size || kinds.has(resource)) &&
    (!namespaces.size || namespaces.has(namespace ?? "")) &&
    (!matching || matching.has(key));
  return {
    row: (row) => ofObject(row.key, row.resource, row.namespace, row.cluster) &&
      (!state.notready || isNotReady(row)) && (!who.length || byAll([...(row.by ?? []), ...wrote(row.key)])) &&
      words.every((word) => haystack(row, store).includes(word) || isBy(wrote(row.key), word)),
    change: (m) => (!events.size || events.has(eventGroup(m))) &&
      (m.type === "watch" ? !clusters.size || !m.target?.cluster || clusters.has(m.target.cluster) : ofObject(m.key, m.resource, m.namespace, m.cluster) &&
        (!state.notready || isNotReady(store.objects.get(m.key)))) &&
      (!who.length || byAll((m.changes ?? []).map((c) => c.who))) &&
      words.every((word) => changeHaystack(m).includes(word)),
    active: typed.length + clusters.size + kinds.size + namespaces.size + events.size > 0 || state.notready || Boolean(state.where),
  };
}

/** writersOf is who made the changes of a feed, by the keys of objects: who wrote what somebody else has by now, too. */
function writersOf(feed) {
  const all = new Map();
  for (const m of feed) {
    for (const { who } of m.changes ?? []) {
      const known = all.get(m.key);
      if (!known) all.set(m.key, [who]);
      else if (!known.includes(who)) known.push(who);
    }
  }
  return all;
}

/** isBusy: it is not ready, and has not failed. What has no state, as an Event, is neither. */
const isBusy = (row) => ["InProgress", "Terminating"].includes(row.status.state);
const isNotReady = (row) => Boolean(row) && !row.ended && (row.status.state === "Failed" || isBusy(row));

/** eventGroup is what the filter of changes calls a message of the feed. */
export function eventGroup(m) {
  return m.type === "watch" ? "watch" : m.event.toLowerCase();
}

function haystack(row, store) {
  return row.text ??= [row.name, row.namespace, row.cluster, row.resource, row.status.state, row.status.message, ...(row.by ?? []), ...searched(row, store),
    ...Object.entries(row.labels ?? {}).map(([k, v]) => `${k}=${v}`)].join("\n").toLowerCase();
}

/** searched are the cells but for those that count: a time is nothing to search by. */
function searched(row, store) {
  const columns = store.resources.get(row.resource)?.columns;
  return (row.cells ?? []).filter((_, i) => !columns?.[i]?.counts);
}

function changeHaystack(m) {
  return m.haystack ??= [m.name, m.namespace, m.cluster ?? m.target?.cluster, m.resource, m.text,
    ...(m.changes ?? []).flatMap((c) => [c.path, c.old, c.new, c.who])].join("\n").toLowerCase();
}

/** table is the rows of the table: for each resource {resource, count}, then {key}. ranking says which stand first, if
 * they are not sorted otherwise; of the same by name. */
export function table(store, state, now, ranking) {
  const pass = filter(state, store).row;
  const sections = new Map();
  for (const row of store.sorted()) {
    if (row.ended && now - row.ended > farewell) continue;
    if (!pass(row)) continue;
    if (!sections.has(row.resource)) sections.set(row.resource, []);
    sections.get(row.resource).push(row);
  }
  const items = [];
  for (const [resource, rows] of sections) {
    const sorter = state.sort ? sorters[state.sort] : ranking && ((a, b) => ranking.get(a.key) - ranking.get(b.key));
    if (sorter) rows.sort(sorter);
    items.push({ resource, count: rows.filter((r) => !r.ended).length });
    for (const row of rows) items.push({ key: row.key });
  }
  return items;
}

const sorters = {
  changed: (a, b) => (b.changed ?? b.first ?? 0) - (a.changed ?? a.first ?? 0) || compare(a.name, b.name),
  age: (a, b) => (b.created ?? 0) - (a.created ?? 0) || compare(a.name, b.name),
  status: (a, b) => (worse[a.status.state] ?? 3) - (worse[b.status.state] ?? 3) || compare(a.name, b.name),
};

/** timeline is the rows of the timeline between two times: what owns stands above what it owns, what is not
 * as it should be first, and what is over stays. What below an owner was as it should be all that time, and
 * still is, is folded into it: an item has how many objects (quiet), unless unfolded has its key (open). */
export function timeline(store, state, [from, to], unfolded = new Set()) {
  const shown = shownIn(store, state, from), children = new Map(), ranks = new Map(), quiet = new Map(), roots = [];
  for (const row of shown) {
    const owner = store.owner(row);
    if (!owner || !shown.has(owner)) roots.push(row);
    else if (children.has(owner)) children.get(owner).push(row);
    else children.set(owner, [row]);
  }
  // Who searches sees what was found.
  const folds = !state.q && !state.where;
  const look = (row) => {
    if (ranks.has(row)) return; // owners in a circle are possible, and end here
    ranks.set(row, rankOf(row));
    let hidden = folds && isQuiet(row, from, to) && !warns(store, row, from, to) ? 1 : 0;
    for (const child of children.get(row) ?? []) {
      look(child);
      ranks.set(row, Math.min(ranks.get(row), ranks.get(child)));
      hidden = hidden && quiet.get(child) ? hidden + quiet.get(child) : 0;
    }
    quiet.set(row, hidden);
  };
  for (const row of shown) look(row);
  const items = [];
  const visit = (row, depth, all = false) => {
    if (!shown.delete(row)) return;
    const item = { key: row.key, depth }, own = children.get(row) ?? [];
    items.push(item);
    const open = all || unfolded.has(row.key);
    own.sort((a, b) => ranks.get(a) - ranks.get(b) || begin(a) - begin(b) || compare(a.name, b.name));
    for (const child of own) {
      const some = quiet.get(child);
      if (some && !all) item[open ? "open" : "quiet"] = (item[open ? "open" : "quiet"] ?? 0) + some;
      if (!some || open) visit(child, Math.min(depth + 1, 5), open && some > 0);
      else forget(child, children, shown);
    }
  };
  roots.sort((a, b) => ranks.get(a) - ranks.get(b)); // and else as they are
  for (const row of roots) visit(row, 0);
  for (const row of [...shown]) visit(row, 0);
  return items;
}

/** shownIn are the rows that pass the filters, and that were not over before a time, but for Events that are marks. */
function shownIn(store, state, from) {
  const pass = filter(state, store).row, kinds = new Set([...store.resources.values()].map((r) => r.kind));
  const shown = new Set(store.sorted().filter((row) => !(row.ended && row.ended < from) && pass(row)));
  for (const row of shown) if (row.about && isMark(store, state, row, shown, kinds)) shown.delete(row);
  return shown;
}

/** isMark: an Event has no lane where its object has one, or would if it still were there. Who asks for Events alone, or
 * finds one whose object is not found, sees it. */
function isMark(store, state, row, shown, kinds) {
  const about = store.find(row, row.about.uid), searches = state.q || state.where;
  if (state.kind.includes(row.resource) && !shown.has(about)) return false;
  return about ? shown.has(about) || Boolean(about.ended && !searches) : kinds.has(row.about.kind) && !searches;
}

/** warns reports whether a Warning about an object came between two times. */
const warns = (store, row, from, to) => store.eventsOf(row).some((e) => e.status.state === "Warning" && times(e).some((at) => at >= from && at <= to));

/** forget takes a row out of a set, and what stands below it. */
function forget(row, children, from) {
  if (from.delete(row)) for (const child of children.get(row) ?? []) forget(child, children, from);
}

/** rankOf is 0 of what has failed, 1 of what is not ready, and 2 of what is as it should be, or over. */
export const rankOf = (row) => (row.ended ? 2 : row.status.state === "Failed" ? 0 : isBusy(row) ? 1 : 2);

/** isQuiet reports whether an object was as it should be between two times, and is, and nothing happened to it. */
function isQuiet(row, from, to) {
  if (row.ended || rankOf(row) < 2 || row.status.state === "Warning") return false;
  if (!row.initial && row.first >= from && row.first <= to) return false;
  if (row.ticks?.at(-1) >= from && row.ticks.some((at) => at >= from && at <= to)) return false;
  const segments = row.segments ?? [];
  return segments.every(([at, state], i) => at > to || (segments[i + 1]?.[0] ?? to) < from || quietStates.has(state));
}

const quietStates = new Set(["Current", "Unknown", "Normal"]);

/** begin is when an object appeared. */
export const begin = (row) => (row.initial ? row.created ?? row.first ?? 0 : row.first ?? row.created ?? 0);

/** counts is how many objects there are by cluster, resource and namespace, and in what state. */
export function counts(store) {
  const clusters = new Map(), resources = new Map(), namespaces = new Map();
  for (const { name } of store.clusters ?? []) clusters.set(name, { all: 0, failed: 0, busy: 0 });
  for (const id of store.resources.keys()) resources.set(id, { all: 0, failed: 0, busy: 0 });
  let notReady = 0;
  for (const row of store.objects.values()) {
    if (row.ended) continue;
    const failed = row.status.state === "Failed", busy = isBusy(row);
    if (failed || busy) notReady++;
    for (const [map, name] of [[clusters, row.cluster], [resources, row.resource], [namespaces, row.namespace]]) {
      if (name === "") continue;
      if (!map.has(name)) map.set(name, { all: 0, failed: 0, busy: 0 });
      const c = map.get(name);
      c.all++;
      if (failed) c.failed++;
      if (busy) c.busy++;
    }
  }
  return { clusters, resources, namespaces: new Map([...namespaces].sort((a, b) => compare(a[0], b[0]))), notReady };
}
