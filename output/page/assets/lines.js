// The lines of a message in the feed. A change has one line per field path, as with `-o changes`.
import { setText, setAttribute } from "./dom.js";
import { age, clock, count, shortPath, visible, truncate } from "./format.js";

/** Limits for one change in the feed: paths, characters of a value, and lines of a diff. The panel of the object shows
 * more. */
const pathLimit = 6, valueLimit = 160, diffLimit = 8;

const signs = { ADDED: ["+", "added"], MODIFIED: ["~", "modified"], DELETED: ["-", "deleted"] };

/** sign returns the sign of a message and its CSS class. */
export const sign = (m) => signs[m.event] ?? ["!", "notice"];

/** lines returns the lines of a message: {message, first, path, old, arrow, new, text, who}. narrow is the width in
 * characters of a small screen, where the object has its own line and long lines are wrapped. 0 means no limit. */
export function lines(m, narrow = 0) {
  if (m.type === "watch") return [{ message: m, first: true, events: [m], text: watchText([m]) }];
  const changes = remainingChanges(m), all = [];
  if (m.event !== "MODIFIED" || m.text || !changes.length) {
    all.push({ text: [statusText(m), m.text].filter(Boolean).join("; ") || (changes.length ? "" : "changed") });
  }
  if (m.event === "MODIFIED") {
    const shown = changes.length + (m.more ?? 0) > pathLimit ? changes.slice(0, pathLimit - 1) : changes;
    all.push(...shown.flatMap((c) => [changeLine(c), ...diffLines(c, diffLimit)]));
    const rest = changes.length - shown.length + (m.more ?? 0);
    if (rest) all.push({ text: `… ${count(rest, "more change")}` });
  }
  const shown = narrow ? [{}, ...all.flatMap((line) => wrapped(line, narrow))] : all;
  shown.forEach((line, i) => Object.assign(line, { message: m, first: i === 0 }));
  return shown;
}

/** wrapped splits a line that is longer than width: path, old value, new value, and the rest. */
function wrapped(line, width) {
  const rest = [line.text, line.who && `· ${line.who}`].filter(Boolean).join(" ");
  if (line.diff) return split(line.text, width).map((text) => ({ diff: line.diff, text }));
  if ([line.path, line.old, line.arrow, line.new, rest].filter(Boolean).join(" ").length <= width) return [{ ...line, text: rest }];
  return [
    ...(line.path ? [{ path: line.path, arrow: "" }] : []),
    ...split(line.old, width).map((old) => ({ old })),
    ...split(line.new, width - 2).map((value, i) => ({ arrow: i ? "" : line.arrow, new: value, removed: line.removed })),
    ...split(rest, width).map((text) => ({ text })),
  ];
}

/** split splits a text into parts of at most limit characters, between words if possible. */
function split(text, limit) {
  const all = [];
  let rest = Array.from(text ?? "");
  while (rest.length > limit) {
    const space = rest.lastIndexOf(" ", limit), end = space > limit / 2 ? space : limit;
    all.push(rest.slice(0, end).join(""));
    rest = rest.slice(rest[end] === " " ? end + 1 : end);
  }
  return rest.length ? [...all, rest.join("")] : all;
}

/** isEvent reports whether a message is about a Kubernetes Event. */
export const isEvent = (m) => /^events(\.events\.k8s\.io)?$/.test(m.resource ?? "");

/** remainingChanges returns the changes of a message that its text does not already describe. */
export function remainingChanges(m) {
  const changes = m.changes ?? [];
  if (!m.text?.startsWith("is being deleted")) return changes;
  return changes.filter((c) => !/^metadata\.deletion(Timestamp|GracePeriodSeconds)$/.test(c.path));
}

/** diffLines returns up to limit lines {diff, text} of the diff of a change. diff is the CSS class. */
export function diffLines(c, limit) {
  const all = c.diff ?? [], rest = all.length - limit + (c.diffMore ?? 0);
  const classes = { "+": "plus", "-": "minus" };
  const shown = all.slice(0, limit).map((text) => ({ diff: classes[text[0]] ?? "same", text: visible(text) }));
  return rest > 0 ? [...shown, { diff: "same", text: `… ${count(rest, "more line")}` }] : shown;
}

/** changeLine returns the line of one changed path, with shortened values. */
export function changeLine(c) {
  const shorten = (text, more) => text === undefined ? "" : (more ? `${visible(text)}… (${more} more)` : truncate(visible(text), valueLimit));
  const before = shorten(c.old, c.oldMore), after = shorten(c.new, c.newMore);
  const text = [c.masked ? "(masked)" : "", { rewritten: "(means the same)", moved: "(moved)" }[c.kind]].filter(Boolean).join(" ");
  const line = { path: visible(c.path), text, who: visible(c.who ?? "") };
  if (c.diff) return { ...line, arrow: "" };
  if (c.kind === "added") return { ...line, arrow: "+", new: after };
  if (c.kind === "removed") return { ...line, arrow: "removed", new: before && `(was ${before})`, removed: true };
  return { ...line, old: before, arrow: "→", new: after };
}

/** statusText describes the state of an object that was added or deleted. */
function statusText(m) {
  const { event, status, created } = m;
  if (m.text && isEvent(m)) return ""; // an Event has no state
  if (event === "ADDED") {
    return status?.message && status.state !== "Current" ? `${status.state}: ${visible(status.message)}` : status?.state ?? "added";
  }
  if (event === "DELETED") {
    return [status ? `was ${status.state}` : "deleted", created ? `${age(m.time - created)} old` : ""].filter(Boolean).join(", ");
  }
  return "";
}

/** watchText describes a status event, with all targets that it happened to. */
function watchText(events) {
  const [m] = events, last = events.at(-1);
  const names = (field, plural, limit) => {
    const all = [...new Set(events.map((e) => e.target?.[field]).filter(Boolean))];
    return all.length > limit ? `${all.length} ${plural}` : all.map(visible).join(", ");
  };
  const where = [names("cluster", "clusters", 3), names("resource", "resources", 2), names("namespace", "namespaces", 3), names("name", "objects", 2)].filter(Boolean).join(" · ");
  const until = clock(m.time) === clock(last.time) ? "" : `until ${clock(last.time)}`;
  const details = [where, until].filter(Boolean).join(", ");
  return visible(m.text || m.event.toLowerCase()) + (details && ` (${details})`);
}

/** fold merges a status event into the line of the same event for other targets, so that an outage of all watches is one
 * line. Only status events of other targets may be in between, so that two outages remain two lines. It reports
 * whether there was such a line. */
export function fold(lines, m) {
  const target = (e) => JSON.stringify([e.target?.cluster, e.target?.resource, e.target?.namespace, e.target?.name]);
  for (let i = lines.length - 1; i >= 0 && lines[i].events && m.target; i--) {
    const line = lines[i];
    if (line.events.some((e) => target(e) === target(m))) return false;
    if (line.message.event !== m.event || line.message.text !== m.text || !line.message.target) continue;
    const events = [...line.events, m];
    lines[i] = { ...line, events, text: watchText(events) };
    return true;
  }
  return false;
}

/** fillChange writes a line into an element with spans for path, old value, arrow, new value and text. */
export function fillChange(element, line, pathWidth) {
  const [path, before, arrow, after, words] = element.children;
  setText(path, line.path ? shortPath(line.path, pathWidth) : "");
  setAttribute(path, "title", line.path ?? null);
  const space = line.path ? " " : "";
  setText(before, line.old ? space + line.old : "");
  setText(arrow, line.arrow ? space + line.arrow : "");
  setText(after, line.new ? `${line.arrow ? " " : space}${line.new}` : "");
  after.className = line.removed ? "old" : "new-value";
  arrow.className = `arrow ${{ "+": "plus", removed: "minus" }[line.arrow] ?? ""}`;
  words.className = line.diff ? `words diff ${line.diff}` : "words";
  setText(words, line.last ? `${line.text} (last ${clock(line.last)})` : line.text ? (line.path ? ` ${line.text}` : line.text) : "");
}
