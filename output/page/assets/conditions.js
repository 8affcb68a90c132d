// The conditions of an object over time. All functions are pure.

/** The time before dwatch first saw the object may take at least this much of the window, in ms. */
const minHistory = 600e3;

/** windowOf returns the visible window [from, to]. It also includes the time before dwatch first saw the object
 * (begin), back to the oldest transition of the initial conditions. This part is at most ten minutes or as long as
 * the object has been watched, whichever is longer. */
export function windowOf(initial, begin, to) {
  const oldest = Math.min(begin, ...initial.map((c) => Date.parse(c.time)).filter(Boolean));
  return [Math.min(to - 1000, Math.max(oldest, begin - Math.max(to - begin, minHistory))), to];
}

/** spans returns for each condition {type, status, reason, message, spans: [[from, to, status]], before: [from, to,
 * status, since], since}. It uses the current conditions and the changes since begin; the old value of the first
 * change tells the status before it. before covers the time before begin: the transition time of an initial
 * condition claims it, but dwatch did not observe it. */
export function spans(conditions, history, from, to, begin = from, initial = []) {
  const changes = new Map();
  for (const change of history) {
    for (const c of change.changes ?? []) {
      const type = /^status\.conditions\[type=([^\]]+)\]\.status$/.exec(c.path)?.[1];
      const entire = /^status\.conditions\[type=([^\]]+)\]$/.exec(c.path)?.[1];
      if (type) addChange(changes, type, change.time, c.old, c.new);
      else if (entire) addChange(changes, entire, change.time, statusIn(c.old), statusIn(c.new));
    }
  }
  const current = new Map(conditions.map((c) => [c.type, c])), first = new Map(initial.map((c) => [c.type, c]));
  const types = [...current.keys(), ...[...changes.keys()].filter((type) => !current.has(type))];
  return types.map((type) => {
    const condition = current.get(type);
    return { type, ...condition, spans: spansOf(changes.get(type) ?? [], condition, begin, to), before: spanBefore(first.get(type), from, begin), since: Date.parse(condition?.time) || 0 };
  });
}

/** spanBefore returns the span of an initial condition before begin, or null if there is none. */
function spanBefore(initial, from, begin) {
  const since = Date.parse(initial?.time) || begin;
  return since < begin ? [Math.max(since, from), begin, initial.status, since] : null;
}

function addChange(changes, type, time, before, after) {
  if (!changes.has(type)) changes.set(type, []);
  changes.get(type).push({ time, before, after });
}

/** statusIn returns the status in the value of a whole condition. The value is "True, Reason: message", or JSON
 * that may be truncated if the condition has other fields. */
function statusIn(text) {
  return /^(\w+)(,|$)|"status":"(\w+)"/.exec(text ?? "")?.filter(Boolean).at(text[0] === "{" ? -1 : 1);
}

/** spansOf returns the observed spans of one condition. */
function spansOf(changes, condition, from, to) {
  // Without changes, the status holds since its last transition time.
  const since = Date.parse(condition?.time ?? "") || 0;
  let status = changes.length ? changes[0].before : condition?.status;
  let at = changes.length ? from : Math.max(from, Math.min(since, to));
  const spans = [];
  for (const c of changes) {
    // If the old value is not the previous status, the changes in between are no longer stored.
    if (status && c.time > at) spans.push([at, c.time, c.before === status ? status : notStored]);
    [at, status] = [Math.max(from, c.time), c.after];
  }
  if (status && changes.length && condition && condition.status !== status) {
    const then = Math.max(at, Math.min(since, to));
    if (then > at) spans.push([at, then, notStored]);
    if (to > then) spans.push([then, to, condition.status]);
  } else if (status) spans.push([at, to, status]);
  return spans;
}

/** notStored replaces a status that is unknown because changes were dropped. Users see this text. */
export const notStored = "not held";

// Types of conditions for which True is bad.
const badTypes = /(Pressure|Unavailable|Failure|FailureTarget|DisruptionTarget|Failed|Stalled|Degraded|Error|Terminating|Deletion\w*)$/;

/** tone returns the CSS class of a status, by whether it is good or bad for this type of condition. */
export function tone(type, status) {
  if (status === notStored) return "is-not-stored";
  if (status !== "True" && status !== "False") return "is-unknown";
  const good = (status === "True") !== badTypes.test(type);
  return good ? "is-current" : badTypes.test(type) ? "is-failed" : "is-progress";
}
