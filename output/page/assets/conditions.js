// The conditions of an object over time: pure functions.

/** How long at least the time before dwatch began may be that is shown, in ms. */
const leastBefore = 600e3;

/** windowOf is from when to when conditions are shown: also before they were seen first (begin), as far as they say since
 * when they were as they were found; but no longer than what was seen, or ten minutes. */
export function windowOf(before, begin, to) {
  const oldest = Math.min(begin, ...before.map((c) => Date.parse(c.time)).filter(Boolean));
  return [Math.min(to - 1000, Math.max(oldest, begin - Math.max(to - begin, leastBefore))), to];
}

/** spans returns for each condition {type, status, reason, message, spans: [[from, to, status]], before: [from, to,
 * status, since], since}, from what they are now and from the changes there were since begin. What was before the first change is
 * known from the old value. What was found at the start (found) says since when it was so: nobody saw that. */
export function spans(conditions, history, from, to, begin = from, found = []) {
  const told = new Map();
  for (const change of history) {
    for (const c of change.changes ?? []) {
      const type = /^status\.conditions\[type=([^\]]+)\]\.status$/.exec(c.path)?.[1];
      const whole = /^status\.conditions\[type=([^\]]+)\]$/.exec(c.path)?.[1];
      if (type) note(told, type, change.time, c.old, c.new);
      else if (whole) note(told, whole, change.time, statusIn(c.old), statusIn(c.new));
    }
  }
  const now = new Map(conditions.map((c) => [c.type, c])), then = new Map(found.map((c) => [c.type, c]));
  const types = [...now.keys(), ...[...told.keys()].filter((type) => !now.has(type))];
  return types.map((type) => {
    const seen = spansOf(told.get(type) ?? [], now.get(type), begin, to), before = beforeOf(then.get(type), from, begin);
    return { type, ...now.get(type), spans: seen, before, since: Date.parse(now.get(type)?.time) || 0 };
  });
}

/** beforeOf is the part of a bar that nobody saw; null: it is not known. */
function beforeOf(found, from, begin) {
  const since = Date.parse(found?.time) || begin;
  return since < begin ? [Math.max(since, from), begin, found.status, since] : null;
}

function note(told, type, time, before, after) {
  if (!told.has(type)) told.set(type, []);
  told.get(type).push({ time, before, after });
}

/** statusIn is the status in a condition that came, went or changed: "True, Reason: message", or,
 * where it has more than that, JSON (cut perhaps). */
function statusIn(text) {
  return /^(\w+)(,|$)|"status":"(\w+)"/.exec(text ?? "")?.filter(Boolean).at(text[0] === "{" ? -1 : 1);
}

function spansOf(changes, condition, from, to) {
  // Without a change it has been so since its last transition, as far as it says.
  const since = Date.parse(condition?.time ?? "") || 0;
  let status = changes.length ? changes[0].before : condition?.status;
  let at = changes.length ? from : Math.max(from, Math.min(since, to));
  const spans = [];
  for (const c of changes) {
    // What it says that it was is not what it became: what was between is no longer held.
    if (status && c.time > at) spans.push([at, c.time, c.before === status ? status : unheld]);
    [at, status] = [Math.max(from, c.time), c.after];
  }
  if (status && changes.length && condition && condition.status !== status) {
    const then = Math.max(at, Math.min(since, to));
    if (then > at) spans.push([at, then, unheld]);
    if (to > then) spans.push([then, to, condition.status]);
  } else if (status) spans.push([at, to, status]);
  return spans;
}

/** unheld is in the place of a status of which nobody knows any more what it was. */
export const unheld = "not held";

// Conditions whose True is bad news.
const troubles = /(Pressure|Unavailable|Failure|FailureTarget|DisruptionTarget|Failed|Stalled|Degraded|Error|Terminating|Deletion\w*)$/;

/** tone is the class of a status of a condition: is it good news? */
export function tone(type, status) {
  if (status === unheld) return "is-unheld";
  if (status !== "True" && status !== "False") return "is-unknown";
  const good = (status === "True") !== troubles.test(type);
  return good ? "is-current" : troubles.test(type) ? "is-failed" : "is-progress";
}
