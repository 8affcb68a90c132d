// A change as lines, in the manner of `-o changes`: one for each path.
import { setText, setAttribute } from "./dom.js";
import { age, clock, count, shortPath, visible, truncate } from "./format.js";

/** How many paths of one change are lines in the feed; the object has them all. */
const mostLines = 6;
const mostValue = 160;
/** How many lines of a difference are in the feed; the object has 20. */
const mostDiff = 8;

const signs = { ADDED: ["+", "added"], MODIFIED: ["~", "modified"], DELETED: ["-", "deleted"] };

/** sign is the sign of a message, and its class. */
export const sign = (m) => signs[m.event] ?? ["!", "mark"];

/** lines is a message as lines: {message, first, path, old, arrow, new, text, who}. Where there is room for
 * so few letters, as on a phone, what it is about has a line of its own, and what is long has several. */
export function lines(m, narrow = 0) {
  if (m.type === "watch") return [{ message: m, first: true, marks: [m], text: markText([m]) }];
  const changes = telling(m), all = [];
  if (m.event !== "MODIFIED" || m.text || !changes.length) {
    all.push({ text: [statusText(m), m.text].filter(Boolean).join("; ") || (changes.length ? "" : "changed") });
  }
  if (m.event === "MODIFIED") {
    const shown = changes.length + (m.more ?? 0) > mostLines ? changes.slice(0, mostLines - 1) : changes;
    all.push(...shown.flatMap((c) => [change(c), ...diffLines(c, mostDiff)]));
    const rest = changes.length - shown.length + (m.more ?? 0);
    if (rest) all.push({ text: `… ${count(rest, "more change")}` });
  }
  const shown = narrow ? [{}, ...all.flatMap((line) => wrapped(line, narrow))] : all;
  shown.forEach((line, i) => Object.assign(line, { message: m, first: i === 0 }));
  return shown;
}

/** wrapped is a line as several, where one has no room: the path, what it was, what it is, and who did it. */
function wrapped(line, room) {
  const said = [line.text, line.who && `· ${line.who}`].filter(Boolean).join(" ");
  if (line.diff) return pieces(line.text, room).map((text) => ({ diff: line.diff, text }));
  if ([line.path, line.old, line.arrow, line.new, said].filter(Boolean).join(" ").length <= room) return [{ ...line, text: said }];
  return [
    ...(line.path ? [{ path: line.path, arrow: "" }] : []),
    ...pieces(line.old, room).map((old) => ({ old })),
    ...pieces(line.new, room - 2).map((value, i) => ({ arrow: i ? "" : line.arrow, new: value, removed: line.removed })),
    ...pieces(said, room).map((text) => ({ text })),
  ];
}

/** pieces are parts of a text of so many letters at most, between words where there are any. */
function pieces(text, most) {
  const all = [];
  let rest = Array.from(text ?? "");
  while (rest.length > most) {
    const space = rest.lastIndexOf(" ", most), end = space > most / 2 ? space : most;
    all.push(rest.slice(0, end).join(""));
    rest = rest.slice(rest[end] === " " ? end + 1 : end);
  }
  return rest.length ? [...all, rest.join("")] : all;
}

/** isEvent reports whether a message is about an Event of Kubernetes. */
export const isEvent = (m) => /^events(\.events\.k8s\.io)?$/.test(m.resource ?? "");

/** telling are the changes of a message that its text does not say already. */
export function telling(m) {
  const changes = m.changes ?? [];
  if (!m.text?.startsWith("is being deleted")) return changes;
  return changes.filter((c) => !/^metadata\.deletion(Timestamp|GracePeriodSeconds)$/.test(c.path));
}

/** diffLines are those of a difference between two texts, {diff, text}, most of them at most. */
export function diffLines(c, most) {
  const all = c.diff ?? [], rest = all.length - most + (c.diffMore ?? 0);
  const signs = { "+": "plus", "-": "minus" };
  const shown = all.slice(0, most).map((text) => ({ diff: signs[text[0]] ?? "same", text: visible(text) }));
  return rest > 0 ? [...shown, { diff: "same", text: `… ${count(rest, "more line")}` }] : shown;
}

/** change is one path with what it was and is, shortened. */
export function change(c) {
  const shorten = (text, more) => text === undefined ? "" : (more ? `${visible(text)}… (${more} more)` : truncate(visible(text), mostValue));
  const before = shorten(c.old, c.oldMore), after = shorten(c.new, c.newMore);
  const text = [c.masked ? "(masked)" : "", { rewritten: "(means the same)", moved: "(moved)" }[c.kind]].filter(Boolean).join(" ");
  const line = { path: visible(c.path), text, who: visible(c.who ?? "") };
  if (c.diff) return { ...line, arrow: "" };
  if (c.kind === "added") return { ...line, arrow: "+", new: after };
  if (c.kind === "removed") return { ...line, arrow: "removed", new: before && `(was ${before})`, removed: true };
  return { ...line, old: before, arrow: "→", new: after };
}

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

/** markText is what became of the watch, in one line for all targets of which it was said. */
function markText(marks) {
  const [m] = marks, last = marks.at(-1);
  const named = (field, many, most) => {
    const all = [...new Set(marks.map((mark) => mark.target?.[field]).filter(Boolean))];
    return all.length > most ? `${all.length} ${many}` : all.map(visible).join(", ");
  };
  const where = [named("cluster", "clusters", 3), named("resource", "resources", 2), named("namespace", "namespaces", 3), named("name", "objects", 2)].filter(Boolean).join(" · ");
  const until = clock(m.time) === clock(last.time) ? "" : `until ${clock(last.time)}`;
  const about = [where, until].filter(Boolean).join(", ");
  return visible(m.text || m.event.toLowerCase()) + (about && ` (${about})`);
}

/** fold puts a mark of the watch into the line that says the same of other targets, if
 * nothing but marks of others came in between: an outage of all is not a line for each, and
 * two outages are not one. It reports whether there was such a line. */
export function fold(lines, m) {
  const of = (mark) => JSON.stringify([mark.target?.cluster, mark.target?.resource, mark.target?.namespace, mark.target?.name]);
  for (let i = lines.length - 1; i >= 0 && lines[i].marks && m.target; i--) {
    const line = lines[i];
    if (line.marks.some((mark) => of(mark) === of(m))) return false;
    if (line.message.event !== m.event || line.message.text !== m.text || !line.message.target) continue;
    const marks = [...line.marks, m];
    lines[i] = { ...line, marks, text: markText(marks) };
    return true;
  }
  return false;
}

/** fillChange writes a line into spans of path, old, arrow, new and words. */
export function fillChange(element, line, mostPath) {
  const [path, before, arrow, after, words] = element.children;
  setText(path, line.path ? shortPath(line.path, mostPath) : "");
  setAttribute(path, "title", line.path ?? null);
  const beside = line.path ? " " : "";
  setText(before, line.old ? beside + line.old : "");
  setText(arrow, line.arrow ? beside + line.arrow : "");
  setText(after, line.new ? `${line.arrow ? " " : beside}${line.new}` : "");
  after.className = line.removed ? "old" : "new-value";
  arrow.className = `arrow ${{ "+": "plus", removed: "minus" }[line.arrow] ?? ""}`;
  words.className = line.diff ? `words diff ${line.diff}` : "words";
  setText(words, line.last ? `${line.text} (last ${clock(line.last)})` : line.text ? (line.path ? ` ${line.text}` : line.text) : "");
}
