// Which objects and changes are shown: pure functions of what is held and of the state
// in the address.
import { compare } from "./store.js";

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
  const byAll = (names) => who.every((name) => names.some((by) => by?.toLowerCase().includes(name)));
  const kinds = new Set(state.kind), namespaces = new Set(state.ns), events = new Set(state.change);
  const matching = state.where ? store.matching : null;
  const ofObject = (key, resource, namespace) =>
    (!kinds.size || kinds.has(resource)) &&
    (!namespaces.size || namespaces.has(namespace ?? "")) &&
    (!matching || matching.has(key));
  return {
    row: (row) => ofObject(row.key, row.resource, row.namespace) &&
      (!state.notready || isNotReady(row)) && byAll(row.by ?? []) &&
      words.every((word) => haystack(row, store).includes(word)),
    change: (m) => (!events.size || events.has(eventGroup(m))) &&
      (m.type === "watch" || ofObject(m.key, m.resource, m.namespace) &&
        (!state.notready || isNotReady(store.objects.get(m.key)))) &&
      (!who.length || byAll((m.changes ?? []).map((c) => c.who))) &&
      words.every((word) => changeHaystack(m).includes(word)),
    active: typed.length + kinds.size + namespaces.size + events.size > 0 || state.notready || Boolean(state.where),
  };
}

/** isBusy: it is not ready, and has not failed. What has no state, as an Event, is neither. */
const isBusy = (row) => ["InProgress", "Terminating"].includes(row.status.state);
const isNotReady = (row) => Boolean(row) && !row.ended && (row.status.state === "Failed" || isBusy(row));

/** eventGroup is what the filter of changes calls a message of the feed. */
export function eventGroup(m) {
  return m.type === "watch" ? "watch" : m.event.toLowerCase();
}

function haystack(row, store) {
  return row.text ??= [row.name, row.namespace, row.resource, row.status.state, row.status.message, ...(row.by ?? []), ...searched(row, store),
    ...Object.entries(row.labels ?? {}).map(([k, v]) => `${k}=${v}`)].join("\n").toLowerCase();
}

/** searched are the cells but for those that count: a time is nothing to search by. */
function searched(row, store) {
  const columns = store.resources.get(row.resource)?.columns;
  return (row.cells ?? []).filter((_, i) => !columns?.[i]?.counts);
}

function changeHaystack(m) {
  return m.haystack ??= [m.name, m.namespace, m.resource, m.text,
    ...(m.changes ?? []).flatMap((c) => [c.path, c.old, c.new, c.who])].join("\n").toLowerCase();
}

/** table is the rows of the table: for each resource {resource, count}, then {key}. */
export function table(store, state, now) {
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
    if (state.sort) rows.sort(sorters[state.sort]);
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

/** timeline is the rows of the timeline: what owns stands above what it owns, and what
 * is over stays. */
export function timeline(store, state, from) {
  const pass = filter(state, store).row;
  const shown = new Set(), roots = [];
  for (const row of store.sorted()) {
    if (row.ended && row.ended < from || !pass(row)) continue;
    shown.add(row);
  }
  const children = new Map();
  for (const row of shown) {
    const owner = store.owner(row);
    if (!owner || !shown.has(owner)) roots.push(row);
    else if (children.has(owner)) children.get(owner).push(row);
    else children.set(owner, [row]);
  }
  const items = [];
  const visit = (row, depth) => {
    if (!shown.delete(row)) return; // owners in a circle are possible, and end here
    items.push({ key: row.key, depth });
    const own = children.get(row) ?? [];
    own.sort((a, b) => begin(a) - begin(b) || compare(a.name, b.name));
    for (const child of own) visit(child, Math.min(depth + 1, 5));
  };
  for (const row of roots) visit(row, 0);
  for (const row of [...shown]) visit(row, 0);
  return items;
}

/** begin is when an object appeared. */
export const begin = (row) => (row.initial ? row.created ?? row.first ?? 0 : row.first ?? row.created ?? 0);

/** counts is how many objects there are by resource and namespace, and in what state. */
export function counts(store) {
  const resources = new Map(), namespaces = new Map();
  for (const id of store.resources.keys()) resources.set(id, { all: 0, failed: 0, busy: 0 });
  let notReady = 0;
  for (const row of store.objects.values()) {
    if (row.ended) continue;
    const failed = row.status.state === "Failed", busy = isBusy(row);
    if (failed || busy) notReady++;
    for (const [map, name] of [[resources, row.resource], [namespaces, row.namespace]]) {
      if (name === "") continue;
      if (!map.has(name)) map.set(name, { all: 0, failed: 0, busy: 0 });
      const c = map.get(name);
      c.all++;
      if (failed) c.failed++;
      if (busy) c.busy++;
    }
  }
  return { resources, namespaces: new Map([...namespaces].sort((a, b) => compare(a[0], b[0]))), notReady };
}
