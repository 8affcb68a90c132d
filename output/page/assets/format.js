// Times, ages, counts and values as the page shows them. Pure functions.

const two = (n) => String(n).padStart(2, "0");

let inUTC = false; // and not in the zone of who looks

/** showUTC has all times shown in UTC, or else as the clocks here show them. */
export function showUTC(on) { inUTC = on; }

/** zone is how much later it is in UTC than here, in milliseconds. */
export const zone = (ms) => (inUTC ? 0 : new Date(ms).getTimezoneOffset() * 60000);

/** wall is a date that has in UTC what clocks show. */
export const wall = (ms) => new Date(ms - zone(ms));

/** clock is a time of day with seconds: 10:04:31. */
export function clock(ms) {
  const t = wall(ms);
  return `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}:${two(t.getUTCSeconds())}`;
}

/** moment is clock, with the day where that is not today. */
export function moment(ms, now = Date.now()) {
  const day = wall(ms).toISOString().slice(0, 10);
  if (day === wall(now).toISOString().slice(0, 10)) return clock(ms);
  return `${day} ${clock(ms)}`;
}

/** age is how kubectl writes a length of time: 12s, 5m, 2h10m, 3d4h, 2y30d. */
export function age(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return both(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return both(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return both(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  return both(Math.floor(days / 365), "y", days % 365, "d");
}

function both(large, unit, small, subunit) {
  return small ? `${large}${unit}${small}${subunit}` : `${large}${unit}`;
}

/** ago is age as a sentence says it. */
export function ago(ms) {
  return ms < 1000 ? "now" : `${age(ms)} ago`;
}

/** count is a number with its noun: 1 change, 2,000 changes. */
export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(1)} KB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

// What has no width or turns the direction of what follows would make a text look like
// another one: it is shown as its code. A line end within a line, too.
const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** visible is a text from a cluster in one line, without characters that deceive. */
export function visible(text) {
  return String(text).replace(unseen, (c) => {
    if (c === "\n") return "\\n";
    if (c === "\t") return "\\t";
    return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** cut shortens a text and says how long it was. */
export function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, most)}… (${size(text.length)})`;
}

/** value is a value of an object in one line: text without quotes where it can't be
 * mistaken for something else. */
export function value(v, most = 160) {
  if (v === undefined) return "";
  const plain = typeof v === "string" && v !== "" && v === v.trim() && !v.includes("→");
  return cut(visible(plain ? v : JSON.stringify(v)), most);
}

/** shortPath is the end of a path, whole fields, in about most characters. */
export function shortPath(path, most) {
  if (path.length <= most) return path;
  const rest = path.slice(path.length - most + 1);
  const field = rest.search(/[.[]/);
  return "…" + (field >= 0 && field < most / 2 ? rest.slice(field).replace(/^\./, "") : rest);
}

/** shortState is why an object is not as it should be, as shortly as that is said, or else the
 * word of its state. */
export function shortState({ state, message }) {
  if (!message || !["Failed", "InProgress"].includes(state)) return state;
  return visible(message.split(/ \(|: |, /, 1)[0]);
}

export const timeOf = (text) => (text ? Date.parse(text) : 0);
