// Which objects and changes are shown, and in which order. All functions depend only on the store and on the state in
// the URL.
import { compare } from "./store.js";
import { times } from "./warnings.js";

/** How long a deleted object stays in the table, in ms. */
const deletedFor = 8000;

const severity = { Failed: 0, Warning: 0, Terminating: 1, InProgress: 2, Unknown: 3, Current: 4 };

/** whoPrefix starts a search word that matches field managers. */
const whoPrefix = "who:";

/** filter prepares the filters of a state. It returns {row, change, active}: predicates for rows and for messages of the
 * feed, and whether any filter is set. */
export function filter(state, store) {
  const typed = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const words = typed.filter((word) => !word.startsWith(whoPrefix));
  const who = typed.filter((word) => word.startsWith(whoPrefix)).map((word) => word.slice(whoPrefix.length)).filter(Boolean);
  const includesName = (managers, name) => managers.some((manager) => manager?.toLowerCase().includes(name));
  const includesAll = (managers) => who.every((name) => includesName(managers, name));
  let managers; // key -> managers of the changes in the feed
  const managersOf = (key) => (managers ??= managersByKey(store.feed)).get(key) ?? [];
  const clusters = new Set(state.cluster), kinds = new Set(state.kind), namespaces = new Set(state.ns), events = new Set(state.change);
  const matching = state.where ? store.matching : null;
  const matches = (key, resource, namespace, cluster) =>
    (!clusters.size || clusters.has(cluster ?? "")) &&
    (!kinds.size || kinds.has(resource)) &&
    (!namespaces.size || namespaces.has(namespace ?? "")) &&
    (!matching || matching.has(key));
  return {
    row: (row) => matches(row.key, row.resource, row.namespace, row.cluster) &&
      (!state.notready || isNotReady(row)) && (!who.length || includesAll([...(row.by ?? []), ...managersOf(row.key)])) &&
      words.every((word) => searchText(row, store).includes(word) || includesName(managersOf(row.key), word)),
    change: (m) => (!events.size || events.has(eventGroup(m))) &&
      (m.type === "watch" ? !clusters.size || !m.target?.cluster || clusters.has(m.target.cluster) : matches(m.key, m.resource, m.namespace, m.cluster) &&
        (!state.notready || isNotReady(store.objects.get(m.key)))) &&
      (!who.length || includesAll((m.changes ?? []).map((c) => c.who))) &&
      words.every((word) => changeSearchText(m).includes(word)),
    active: typed.length + clusters.size + kinds.size + namespaces.size + events.size > 0 || state.notready || Boolean(state.where),
  };
}

/** managersByKey returns the field managers of all changes of a feed by the key of the object. They may no longer own
 * any field. */
function managersByKey(feed) {
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

/** isBusy reports whether an object is not ready and has not failed. Events have no such state. */
const isBusy = (row) => ["InProgress", "Terminating"].includes(row.status.state);
const isNotReady = (row) => Boolean(row) && !row.ended && (row.status.state === "Failed" || isBusy(row));

/** eventGroup returns the name of a message in the filter of changes. */
function eventGroup(m) {
  return m.type === "watch" ? "watch" : m.event.toLowerCase();
}

/** searchText returns the text of a row that a search looks at. */
function searchText(row, store) {
  return row.text ??= [row.name, row.namespace, row.cluster, row.resource, row.status.state, row.status.message, ...(row.by ?? []), ...searchedCells(row, store),
    ...Object.entries(row.labels ?? {}).map(([k, v]) => `${k}=${v}`)].join("\n").toLowerCase();
}

/** searchedCells returns the cells of a row without ages, which change all the time. */
function searchedCells(row, store) {
  const columns = store.resources.get(row.resource)?.columns;
  return (row.cells ?? []).filter((_, i) => !columns?.[i]?.counts);
}

function changeSearchText(m) {
  return m.searchText ??= [m.name, m.namespace, m.cluster ?? m.target?.cluster, m.resource, m.text,
    ...(m.changes ?? []).flatMap((c) => [c.path, c.old, c.new, c.who])].join("\n").toLowerCase();
}

/** table returns the items of the table: for each resource a section {resource, count}, followed by its rows {key}. They
 * are sorted as state.sort says, or else by ranking and name. */
export function table(store, state, now, ranking) {
  const passes = filter(state, store).row;
  const sections = new Map();
  for (const row of store.sorted()) {
    if (row.ended && now - row.ended > deletedFor) continue;
    if (!passes(row)) continue;
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
  status: (a, b) => (severity[a.status.state] ?? 3) - (severity[b.status.state] ?? 3) || compare(a.name, b.name),
};

/** timeline returns the items of the timeline {key, depth, quiet, open} for a time window. Owned objects are below their
 * owner, objects that are not ready come first, and deleted objects stay. Owned objects that were ready in the
 * whole window and did not change are folded into their owner: quiet is their number, or open if unfolded
 * contains the key of the owner. */
export function timeline(store, state, [from, to], unfolded = new Set()) {
  const shown = shownIn(store, state, from), children = new Map(), ranks = new Map(), quiet = new Map(), roots = [];
  for (const row of shown) {
    const owner = store.owner(row);
    if (!owner || !shown.has(owner)) roots.push(row);
    else if (children.has(owner)) children.get(owner).push(row);
    else children.set(owner, [row]);
  }
  const folds = !state.q && !state.where; // a search shows all objects that it finds
  const visit = (row) => {
    if (ranks.has(row)) return; // also ends cycles of owners
    ranks.set(row, rankOf(row));
    let hidden = folds && isQuiet(row, from, to) && !hasWarning(store, row, from, to) ? 1 : 0;
    for (const child of children.get(row) ?? []) {
      visit(child);
      ranks.set(row, Math.min(ranks.get(row), ranks.get(child)));
      hidden = hidden && quiet.get(child) ? hidden + quiet.get(child) : 0;
    }
    quiet.set(row, hidden);
  };
  for (const row of shown) visit(row);
  const items = [];
  const add = (row, depth, all = false) => {
    if (!shown.delete(row)) return;
    const item = { key: row.key, depth }, owned = children.get(row) ?? [];
    items.push(item);
    const open = all || unfolded.has(row.key);
    owned.sort((a, b) => ranks.get(a) - ranks.get(b) || begin(a) - begin(b) || compare(a.name, b.name));
    for (const child of owned) {
      const folded = quiet.get(child);
      if (folded && !all) item[open ? "open" : "quiet"] = (item[open ? "open" : "quiet"] ?? 0) + folded;
      if (!folded || open) add(child, Math.min(depth + 1, 5), open && folded > 0);
      else removeTree(child, children, shown);
    }
  };
  roots.sort((a, b) => ranks.get(a) - ranks.get(b)); // the sort is stable
  for (const row of roots) add(row, 0);
  for (const row of [...shown]) add(row, 0); // cycles of owners have no root
  return items;
}

/** shownIn returns the rows that pass the filters and were not deleted before a time, without Events that are marks. */
function shownIn(store, state, from) {
  const passes = filter(state, store).row, kinds = new Set([...store.resources.values()].map((r) => r.kind));
  const shown = new Set(store.sorted().filter((row) => !(row.ended && row.ended < from) && passes(row)));
  for (const row of shown) if (row.about && isMark(store, state, row, shown, kinds)) shown.delete(row);
  return shown;
}

/** isMark reports whether an Event has no row: it is a mark on the bar of its object, or its object was deleted. If the
 * user filters by Events or searches, an Event whose object is not shown has a row. */
function isMark(store, state, row, shown, kinds) {
  const object = store.find(row, row.about.uid), searches = state.q || state.where;
  if (state.kind.includes(row.resource) && !shown.has(object)) return false;
  return object ? shown.has(object) || Boolean(object.ended && !searches) : kinds.has(row.about.kind) && !searches;
}

/** hasWarning reports whether a Warning about an object occurred in a time window. */
const hasWarning = (store, row, from, to) => store.eventsOf(row).some((e) => e.status.state === "Warning" && times(e).some((at) => at >= from && at <= to));

/** removeTree removes a row and its owned objects from a set. */
function removeTree(row, children, rows) {
  if (rows.delete(row)) for (const child of children.get(row) ?? []) removeTree(child, children, rows);
}

/** rankOf returns 0 for a failed object, 1 for one that is not ready, and 2 for all others, including deleted ones. */
export const rankOf = (row) => (row.ended ? 2 : row.status.state === "Failed" ? 0 : isBusy(row) ? 1 : 2);

/** isQuiet reports whether an object was ready in the whole time window, still is, and did not change. */
function isQuiet(row, from, to) {
  if (row.ended || rankOf(row) < 2 || row.status.state === "Warning") return false;
  if (!row.initial && row.first >= from && row.first <= to) return false;
  if (row.ticks?.at(-1) >= from && row.ticks.some((at) => at >= from && at <= to)) return false;
  const segments = row.segments ?? [];
  return segments.every(([at, state], i) => at > to || (segments[i + 1]?.[0] ?? to) < from || quietStates.has(state));
}

const quietStates = new Set(["Current", "Unknown", "Normal"]);

/** begin returns when an object appeared: its creation if it existed at the start, or else when dwatch first saw it. */
export const begin = (row) => (row.initial ? row.created ?? row.first ?? 0 : row.first ?? row.created ?? 0);

/** counts counts the existing objects by cluster, resource and namespace: {all, failed, busy}. */
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
