// The feed of all changes, in the manner of `-o changes`: one line for each path.
import { h, setText, setAttribute } from "./dom.js";
import { age, clock, moment, count, shortPath, visible, cut } from "./format.js";
import { Rows } from "./rows.js";
import { filter } from "./select.js";

/** How many paths of one change are lines in the feed; the object has them all. */
const mostLines = 6;
const mostValue = 160;

const signs = { ADDED: ["+", "added"], MODIFIED: ["~", "modified"], DELETED: ["-", "deleted"] };

/** sign is the sign of a message, and its class. */
export const sign = (m) => signs[m.event] ?? ["!", "mark"];

/** lines is a message as lines: {message, first, path, old, arrow, new, text, who}. Where
 * there is little room, what it is about has a line of its own. */
export function lines(m, narrow = false) {
  if (m.type === "watch") return [{ message: m, first: true, marks: [m], text: markText([m]) }];
  const changes = telling(m), all = [];
  if (m.event !== "MODIFIED" || m.text || !changes.length) {
    all.push({ text: [statusText(m), m.text].filter(Boolean).join("; ") || (changes.length ? "" : "changed") });
  }
  if (m.event === "MODIFIED") {
    const shown = changes.length + (m.more ?? 0) > mostLines ? changes.slice(0, mostLines - 1) : changes;
    all.push(...shown.map(change));
    const rest = changes.length - shown.length + (m.more ?? 0);
    if (rest) all.push({ text: `… ${count(rest, "more change")}` });
  }
  if (narrow) all.unshift({});
  all.forEach((line, i) => Object.assign(line, { message: m, first: i === 0 }));
  return all;
}

/** telling are the changes of a message that its text does not say already. */
export function telling(m) {
  const changes = m.changes ?? [];
  if (!m.text?.startsWith("is being deleted")) return changes;
  return changes.filter((c) => !/^metadata\.deletion(Timestamp|GracePeriodSeconds)$/.test(c.path));
}

/** change is one path with what it was and is, shortened. */
export function change(c) {
  const shorten = (text, more) => text === undefined ? "" : (more ? `${visible(text)}… (${more} more)` : cut(visible(text), mostValue));
  const before = shorten(c.old, c.oldMore), after = shorten(c.new, c.newMore);
  const text = [c.masked ? "(masked)" : "", { rewritten: "(means the same)", moved: "(moved)" }[c.kind]].filter(Boolean).join(" ");
  const line = { path: visible(c.path), text, who: visible(c.who ?? "") };
  if (c.kind === "added") return { ...line, arrow: "+", new: after };
  if (c.kind === "removed") return { ...line, arrow: "−", new: before, removed: true };
  return { ...line, old: before, arrow: "→", new: after };
}

function statusText(m) {
  const { event, status, created } = m;
  if (m.text && /^events(\.events\.k8s\.io)?$/.test(m.resource)) return ""; // an Event has no state
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
  const where = [named("resource", "resources", 2), named("namespace", "namespaces", 3), named("name", "objects", 2)].filter(Boolean).join(" · ");
  const until = clock(m.time) === clock(last.time) ? "" : `until ${clock(last.time)}`;
  const about = [where, until].filter(Boolean).join(", ");
  return visible(m.text || m.event.toLowerCase()) + (about && ` (${about})`);
}

/** fold puts a mark of the watch into the line that says the same of other targets, if
 * nothing but marks of others came in between: an outage of all is not a line for each, and
 * two outages are not one. It reports whether there was such a line. */
export function fold(lines, m) {
  const of = (mark) => JSON.stringify([mark.target?.resource, mark.target?.namespace, mark.target?.name]);
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

export class Feed {
  constructor({ store, viewport, button, onOpen }) {
    Object.assign(this, { store, viewport, button, onOpen });
    this.lines = [];
    this.seen = 0;
    this.version = -1;
    this.signature = "";
    this.cursor = -1;
    this.rows = new Rows(viewport, viewport.firstElementChild, {
      height: 22, create, render: (element, index) => this.render(element, index),
    });
    viewport.addEventListener("click", (e) => this.open(e.target.closest(".entry")?.index));
    viewport.addEventListener("keydown", (e) => this.key(e));
    viewport.addEventListener("scroll", () => this.scrolled(), { passive: true });
    button.addEventListener("click", () => this.toEnd());
    this.following = true;
    this.top = 0;
  }

  /** scrolled: whoever scrolls up does not follow any more. That the end has moved away, as
   * other parts of the page grow, is no reason. */
  scrolled() {
    const { scrollTop } = this.viewport;
    this.following = this.atEnd() || this.following && scrollTop >= this.top;
    this.top = scrollTop;
    this.drawButton();
  }

  /** update takes what came since; all anew where the filter became another. */
  update(state, signature) {
    const pass = filter(state, this.store).change;
    this.narrow = this.viewport.clientWidth <= 560; // as in page.css
    signature += this.narrow;
    const anew = signature !== this.signature || this.version !== this.store.feedVersion;
    if (anew) this.rebuild(pass);
    else this.extend(pass);
    this.signature = signature;
    this.version = this.store.feedVersion;
    this.rows.setHeight(parseFloat(getComputedStyle(this.viewport).getPropertyValue("--line-height")) || 22);
    this.rows.setCount(this.lines.length);
    if (this.following) {
      this.viewport.scrollTop = this.lines.length * this.rows.height;
      this.top = this.viewport.scrollTop; // as far as it could
    }
    this.rows.draw();
    this.drawButton();
  }

  rebuild(pass) {
    // What is read stays where it is.
    const top = this.lines[Math.floor(this.viewport.scrollTop / this.rows.height)];
    const within = this.viewport.scrollTop % this.rows.height;
    this.lines = [];
    this.changes = 0;
    this.seen = 0;
    this.cursor = -1;
    const { feed } = this.store;
    for (const m of feed) if (pass(m)) this.push(m);
    this.seen = feed.reduce((most, m) => Math.max(most, m.id), 0);
    const index = top ? this.lines.findIndex((line) => line.message === top.message) : -1;
    if (!this.following && index >= 0) {
      this.rows.setCount(this.lines.length);
      this.viewport.scrollTop = index * this.rows.height + within;
    }
  }

  extend(pass) {
    const { feed } = this.store;
    let from = feed.length;
    while (from > 0 && feed[from - 1].id > this.seen) from--;
    for (const m of feed.slice(from)) {
      this.seen = m.id;
      if (pass(m)) this.push(m);
    }
    this.dropOld();
  }

  /** dropOld takes the lines away of what is not held any more. What is read stays in
   * place. */
  dropOld() {
    let n = 0, changes = 0;
    for (; this.lines[n]?.message.dropped; n++) changes += this.lines[n].first ? 1 : 0;
    if (!n) return;
    this.lines.splice(0, n);
    this.changes -= changes;
    this.cursor = Math.max(-1, this.cursor - n);
    if (!this.following) this.viewport.scrollTop -= n * this.rows.height;
  }

  push(m) {
    if (m.type === "watch" && fold(this.lines, m)) return;
    this.changes++;
    for (const line of lines(m, this.narrow)) this.lines.push(line);
  }

  /** summary says how much is there, and that it is not everything. */
  summary() {
    const held = count(this.changes ?? 0, "change");
    return this.store.feedDropped || this.cutOff ? `${held}; older ones are not held` : held;
  }

  atEnd() {
    return this.viewport.scrollTop + this.viewport.clientHeight >= this.viewport.scrollHeight - 1.5 * this.rows.height;
  }

  toEnd() {
    this.following = true;
    this.viewport.scrollTop = this.viewport.scrollHeight;
    this.drawButton();
  }

  drawButton() { this.button.hidden = this.following || !this.lines.length; }

  open(index) {
    const line = this.lines[index];
    if (!line) return;
    this.cursor = index;
    this.rows.draw();
    if (line.message.key) this.onOpen(line.message.key, line.message.time);
  }

  key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, End: 1e9, Home: -1e9 };
    if (event.key in steps) {
      const start = this.cursor < 0 ? this.lines.length : this.cursor;
      this.cursor = Math.max(0, Math.min(this.lines.length - 1, start + steps[event.key]));
      this.rows.show(this.cursor);
      this.rows.draw();
      setAttribute(this.viewport, "aria-activedescendant", `line-${this.cursor}`);
    } else if (event.key === "Enter") {
      this.open(this.cursor);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  render(element, index) {
    const line = this.lines[index];
    if (!line) return;
    element.index = index;
    const selected = index === this.cursor;
    element.classList.toggle("selected", selected);
    setAttribute(element, "aria-selected", selected);
    if (element.line === line) return;
    element.line = line;
    element.id = `line-${index}`;
    fill(element, line, this.store);
  }
}

function create() {
  const part = (name) => h("span", { class: name });
  return h("div", { role: "option", class: "entry", "aria-selected": "false" },
    h("time"), part("sign"), h("span", { class: "subject" }, h("i"), h("b")),
    h("span", { class: "text" }, part("path"), part("old"), part("arrow"), part("new-value"), part("words")), part("who"));
}

function fill(element, line, store) {
  const m = line.message, [glyph, name] = sign(m);
  const [time, mark, subject, text, who] = element.children;
  element.className = `entry${line.first ? "" : " more"}${m.type === "watch" ? " watch-mark" : ""}${element.classList.contains("selected") ? " selected" : ""}`;
  setText(time, clock(m.time));
  setAttribute(time, "title", moment(m.time, 0));
  setText(mark, glyph);
  mark.className = `sign ${name}`;
  subject.hidden = m.type === "watch" || !line.first;
  setText(subject.children[0], m.resource ? `${(store.resources.get(m.resource)?.kind ?? m.resource).toLowerCase()}/` : "");
  setText(subject.children[1], visible(m.name ?? ""));
  fillChange(text, line, 64);
  setText(who, line.who ?? "");
}

/** fillChange writes a line into spans of path, old, arrow, new and words. */
export function fillChange(element, line, mostPath) {
  const [path, before, arrow, after, words] = element.children;
  setText(path, line.path ? shortPath(line.path, mostPath) : "");
  setAttribute(path, "title", line.path ?? null);
  setText(before, line.path && line.old ? ` ${line.old}` : "");
  setText(arrow, line.path ? ` ${line.arrow}` : "");
  setText(after, line.path && line.new ? ` ${line.new}` : "");
  after.className = line.removed ? "old" : "new-value";
  arrow.className = `arrow ${{ "+": "plus", "−": "minus" }[line.arrow] ?? ""}`;
  setText(words, line.text ? (line.path ? ` ${line.text}` : line.text) : "");
}
