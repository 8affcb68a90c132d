// Formatting of times, ages, counts and values.

const pad = (n) => String(n).padStart(2, "0");

let inUTC = false; // show times in UTC instead of the browser's time zone

/** showUTC selects UTC, or the browser's time zone, for all times. */
export function showUTC(on) { inUTC = on; }

/** zone returns the offset of the displayed time zone at a time, in ms: UTC minus local time. */
export const zone = (ms) => (inUTC ? 0 : new Date(ms).getTimezoneOffset() * 60000);

/** wallClock returns a Date whose UTC fields are the date and time in the displayed time zone. */
export const wallClock = (ms) => new Date(ms - zone(ms));

/** clock formats the time of day, with seconds: 10:04:31. */
export function clock(ms) {
  const t = wallClock(ms);
  return `${pad(t.getUTCHours())}:${pad(t.getUTCMinutes())}:${pad(t.getUTCSeconds())}`;
}

/** moment formats a time like clock, and adds the date if it is not today. */
export function moment(ms, now = Date.now()) {
  const day = wallClock(ms).toISOString().slice(0, 10);
  if (day === wallClock(now).toISOString().slice(0, 10)) return clock(ms);
  return `${day} ${clock(ms)}`;
}

/** age formats a duration in ms like kubectl: 12s, 5m, 2h10m, 3d4h, 2y30d. */
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

/** ago formats a duration in ms as "5s ago", or "now" below one second. */
export function ago(ms) {
  return ms < 1000 ? "now" : `${age(ms)} ago`;
}

/** count formats a number with its noun: 1 change, 2,000 changes. */
export function count(n, singular, plural = `${singular}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? singular : plural}`;
}

/** size formats a number of bytes: 999 bytes, 1.5 KB, 2.5 MB. */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(1)} KB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

// Control characters, zero-width characters and characters that change the text direction can make one
// text look like another.
const deceptive = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** visible returns text from a cluster as one line, with deceptive characters escaped. */
export function visible(text) {
  return String(text).replace(deceptive, (c) => {
    if (c === "\n") return "\\n";
    if (c === "\t") return "\\t";
    return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** truncate shortens a text to a number of characters, and appends the full size. */
export function truncate(text, limit) {
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${size(text.length)})`;
}

/** shortPath shortens a field path to about limit characters. It keeps the end, and whole fields if it can. */
export function shortPath(path, limit) {
  if (path.length <= limit) return path;
  const rest = path.slice(path.length - limit + 1);
  const field = rest.search(/[.[]/);
  return "…" + (field >= 0 && field < limit / 2 ? rest.slice(field).replace(/^\./, "") : rest);
}

/** shortState returns the short reason why an object failed or is in progress. Without a reason, it
 * returns the state itself. */
export function shortState({ state, message }) {
  if (!message || !["Failed", "InProgress"].includes(state)) return state;
  return visible(message.split(/ \(|: |, /, 1)[0]);
}
