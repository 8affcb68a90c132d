// The conditions of an object over time: pure functions.

/** spans returns for each condition {type, status, reason, message, spans: [[from, to,
 * status]]}, from what they are now and from the changes there were. What was before the
 * first change is known from the old value. */
export function spans(conditions, history, from, to) {
  const told = new Map();
  for (const change of history) {
    for (const c of change.changes ?? []) {
      const type = /^status\.conditions\[type=([^\]]+)\]\.status$/.exec(c.path)?.[1];
      const whole = /^status\.conditions\[type=([^\]]+)\]$/.exec(c.path)?.[1];
      if (type) note(told, type, change.time, c.old, c.new);
      else if (whole) note(told, whole, change.time, statusIn(c.old), statusIn(c.new));
    }
  }
  const now = new Map(conditions.map((c) => [c.type, c]));
  const types = [...now.keys(), ...[...told.keys()].filter((type) => !now.has(type))];
  return types.map((type) => ({ type, ...now.get(type), spans: spansOf(told.get(type) ?? [], now.get(type), from, to) }));
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
    if (status && c.time > at) spans.push([at, c.time, status]);
    [at, status] = [Math.max(from, c.time), c.after];
  }
  if (status) spans.push([at, to, status]);
  return spans;
}

// Conditions whose True is bad news.
const troubles = /(Pressure|Unavailable|Failure|FailureTarget|DisruptionTarget|Failed|Stalled|Degraded|Error|Terminating|Deletion\w*)$/;

/** tone is the class of a status of a condition: is it good news? */
export function tone(type, status) {
  if (status !== "True" && status !== "False") return "is-unknown";
  const good = (status === "True") !== troubles.test(type);
  return good ? "is-current" : troubles.test(type) ? "is-failed" : "is-progress";
}
