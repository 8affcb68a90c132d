// The feed of all changes, in the manner of `-o changes`: one line for each path.
import { h, setText, setAttribute } from "./dom.js";
import { clock, moment, count, visible } from "./format.js";
import { Followed, times } from "./followed.js";
import { fillChange, fold, isEvent, lines, sign } from "./lines.js";
import { Rows } from "./rows.js";
import { filter } from "./select.js";

/** About how wide a letter is, in pixels: a path is cut at its front where there is no room for it. */
const letter = 7.2, leastPath = 16, longestPath = 100;

export class Feed {
  constructor({ store, viewport, button, onOpen, onToggle }) {
    Object.assign(this, { store, viewport, button, onOpen, onToggle });
    this.lines = [];
    this.followed = new Followed(store);
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
    for (const hand of ["wheel", "pointerdown", "keydown"]) viewport.addEventListener(hand, () => { this.wanted = 0; }, { passive: true });
    button.addEventListener("click", () => this.toEnd());
    this.following = true;
    this.top = 0;
  }

  /** scrolled: whoever scrolls up does not follow any more. That the end has moved away, as
   * other parts of the page grow, is no reason. */
  scrolled() {
    const { scrollTop } = this.viewport;
    this.following = !this.wanted && (this.atEnd() || this.following && scrollTop >= this.top);
    this.top = scrollTop;
    this.drawButton();
  }

  /** update takes what came since; all anew where the filter became another. */
  update(state, signature) {
    const pass = filter(state, this.store).change;
    const { clientWidth } = this.viewport;
    this.narrow = clientWidth <= 640 ? Math.max(20, Math.floor((clientWidth - 44) / letter)) : 0; // as in page.css
    this.followed.narrow = Boolean(this.narrow);
    this.room = Math.floor(clientWidth / letter);
    this.flat = Boolean(state.q); // who searches sees what was found
    signature += this.narrow;
    const anew = signature !== this.signature || this.version !== this.store.feedVersion;
    if (anew) this.rebuild(pass);
    else this.extend(pass);
    this.signature = signature;
    this.version = this.store.feedVersion;
    this.rows.setHeight(parseFloat(getComputedStyle(this.viewport).getPropertyValue("--line-height")) || 22);
    this.rows.setCount(this.lines.length);
    this.following ||= !this.wanted && this.lines.length * this.rows.height <= this.viewport.clientHeight;
    if (this.following) {
      this.viewport.scrollTop = this.lines.length * this.rows.height;
      this.top = this.viewport.scrollTop; // as far as it could
    }
    if (this.viewport.clientHeight) this.lead();
    this.rows.draw();
    this.drawButton();
  }

  rebuild(pass) {
    // What is read stays where it is.
    const top = this.lines[Math.floor(this.viewport.scrollTop / this.rows.height)];
    const within = this.viewport.scrollTop % this.rows.height;
    this.lines = [];
    this.followed.clear();
    this.warnings = new Map();
    this.changes = 0;
    this.seen = 0;
    this.cursor = -1;
    const { feed } = this.store;
    for (const m of feed) if (pass(m)) this.push(m);
    this.seen = feed.reduce((most, m) => Math.max(most, m.id), 0);
    this.dropped = this.store.feedDropped;
    this.lines = this.lines.flatMap((line) => [line, ...(line.group ? this.inner(line.group) : [])]);
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
    if (this.reopen) this.rebuild(pass); // what is opened has become longer
    this.reopen = false;
  }

  /** dropOld takes the lines away of what is not held any more. What is read stays in
   * place. */
  dropOld() {
    if (this.dropped === this.store.feedDropped) return;
    this.dropped = this.store.feedDropped;
    this.followed.drop();
    for (const [key, [line]] of this.warnings) if (line.message.dropped) this.warnings.delete(key);
    const top = Math.floor(this.viewport.scrollTop / this.rows.height), at = this.lines[this.cursor];
    let above = 0;
    this.lines = this.lines.filter((line, i) => {
      if (line.message.dropped && i < top) above++;
      if (line.message.dropped && line.counted) this.changes--;
      return !line.message.dropped;
    });
    this.cursor = at ? this.lines.indexOf(at) : -1;
    if (!this.following) this.viewport.scrollTop -= above * this.rows.height;
  }

  push(m) {
    if (m.type === "watch" && fold(this.lines, m)) return;
    if (m.type === "change" && !m.meant && !this.flat) return this.follow(m);
    if (isEvent(m) && !this.flat) {
      const held = this.warnings.get(m.key);
      if (held && !held[0].message.dropped && this.again(m, held)) return;
    }
    this.changes++;
    const all = lines(m, this.narrow);
    all[0].counted = true;
    if (isEvent(m)) this.warnings.set(m.key, all);
    this.lines.push(...all);
    const ahead = this.followed.groups.get(`#${m.seq}`); // what followed was told before it
    if (ahead && !ahead.leads) {
      this.lines.splice(this.lines.indexOf(ahead.line), 1);
      this.place(ahead);
    }
  }

  /** again shows an Event that counts on where it stood, and reports whether it did. */
  again(m, held) {
    const at = this.lines.indexOf(held[0]), all = lines(m, this.narrow), more = all.length - held.length;
    if (at < 0) return false;
    Object.assign(all[0], { counted: held[0].counted, began: held[0].began ?? held[0].message.time });
    all.at(-1).last = m.time;
    this.lines.splice(at, held.length, ...all);
    this.warnings.set(m.key, all);
    if (this.cursor > at) this.cursor += more;
    if (!this.following && at * this.rows.height < this.viewport.scrollTop) this.viewport.scrollTop += more * this.rows.height;
    return true;
  }

  /** follow puts a change that was not meant into the line of what it belongs to: below what led
   * to it, if that is known. One alone stands for itself. */
  follow(m) {
    const early = m.lead && this.followed.takeEarly(m);
    if (early) {
      const at = this.lines.lastIndexOf(early.alone[0]);
      if (at >= 0) this.lines.splice(at, early.alone.length);
      early.line.message.lead = m.lead; // it is known now
      this.follow(early.line.message);
    }
    const { group, isNew } = this.followed.add(m);
    if (this.followed.isOpen(group)) this.reopen = true;
    if (isNew && group.lead) return this.place(group);
    if (isNew) {
      group.alone = lines(m, this.narrow);
      return void this.lines.push(...group.alone);
    }
    if (!group.alone) return;
    const at = this.lines.lastIndexOf(group.alone[0]);
    if (at >= 0) this.lines.splice(at, group.alone.length, group.line);
    else this.lines.push(group.line);
    group.alone = null;
  }

  place(group) {
    const at = this.lines.findLastIndex((line) => line.message.seq === group.lead);
    if (at < 0) return void this.lines.push(group.line);
    group.leads = this.lines[at].message;
    group.line.first = false;
    this.lines.splice(at + 1, 0, group.line);
    if (this.cursor > at) this.cursor++;
    if (!this.following && (at + 1) * this.rows.height <= this.viewport.scrollTop) this.viewport.scrollTop += this.rows.height;
  }

  /** inner are the lines of a group that is opened. */
  inner(group) {
    if (!this.followed.isOpen(group) || group.alone) return [];
    return this.followed.shown(group).flatMap((m) => {
      const all = lines(m, this.narrow);
      all.forEach((line) => { line.inner = true; });
      if (m.times) all.at(-1).text = `${all.at(-1).text ?? ""}${times(m)}`;
      return all;
    });
  }

  /** summary says how much is there, and that it is not everything. */
  summary() {
    const followed = this.followed.count ? `, ${this.followed.count.toLocaleString("en")} that followed` : "";
    const held = count(this.changes ?? 0, "change") + followed;
    return this.store.feedDropped || this.cutOff ? `${held}; older ones are not held` : held;
  }

  /** moveTo shows what there was until a time; 0: the newest. It stays there until somebody scrolls. */
  moveTo(time) {
    this.wanted = time;
    this.following = !time;
    if (this.viewport.clientHeight) this.lead();
  }

  /** lead scrolls to what was wanted. */
  lead() {
    if (!this.wanted) return;
    const until = this.lines.findLastIndex((line) => line.first && shownAt(line) <= this.wanted);
    let end = until + 1;
    while (this.lines[end] && !this.lines[end].first) end++;
    this.viewport.scrollTop = end * this.rows.height - this.viewport.clientHeight;
    this.top = this.viewport.scrollTop;
    this.following = false;
    this.drawButton();
  }

  atEnd() {
    return this.viewport.scrollTop + this.viewport.clientHeight >= this.viewport.scrollHeight - 1.5 * this.rows.height;
  }

  toEnd() {
    this.wanted = 0;
    this.following = true;
    this.viewport.scrollTop = this.viewport.scrollHeight;
    this.drawButton();
  }

  drawButton() { this.button.hidden = this.following || !this.lines.length; }

  open(index) {
    const line = this.lines[index];
    if (!line) return;
    this.cursor = index;
    if (line.group) return this.toggle(line.group);
    this.rows.draw();
    if (line.message.key) this.onOpen(line.message.key, line.message.time);
  }

  /** toggle opens what followed, or closes it again. */
  toggle(group) {
    this.followed.toggle(group);
    this.following &&= !this.followed.isOpen(group); // what was opened is read
    this.signature = "";
    this.onToggle();
  }

  key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, End: 1e9, Home: -1e9 };
    if (event.key in steps) {
      const start = this.cursor < 0 ? this.lines.length : this.cursor;
      this.cursor = Math.max(0, Math.min(this.lines.length - 1, start + steps[event.key]));
      this.rows.scrollTo(this.cursor);
      this.rows.draw();
      setAttribute(this.viewport, "aria-activedescendant", `line-${this.cursor}`);
    } else if (event.key === "Enter" || "+-".includes(event.key) && this.lines[this.cursor]?.group) {
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
    if (element.line === line && !line.group && element.version === line.message && element.many === this.store.manyNamespaces && element.room === this.room) return;
    element.room = this.room;
    element.line = line;
    element.version = line.message;
    element.many = this.store.manyNamespaces;
    if (line.group) this.followed.fill(line.group);
    element.id = `line-${index}`;
    fill(element, line, this.store, this.room);
  }
}

/** shownAt is the time that a line shows. */
const shownAt = (line) => line.began ?? line.group?.from ?? line.message.time;

function create() {
  const part = (name) => h("span", { class: name });
  return h("div", { role: "treeitem", class: "entry", "aria-selected": "false" },
    h("time"), part("sign"), h("span", { class: "subject" }, h("em", { class: "cluster" }), h("u"), h("i"), h("b")),
    h("span", { class: "text" }, part("path"), part("old"), part("arrow"), part("new-value"), part("words")), part("who"));
}

function fill(element, line, store, room) {
  const m = line.message, [glyph, name] = sign(m);
  const [time, mark, subject, text, who] = element.children;
  const about = line.subject ?? { kind: m.resource && store.kind(m.resource), name: visible(m.name ?? ""), namespace: m.namespace };
  element.className = `entry${line.first ? "" : " more"}${line.group ? " followed" : ""}${line.inner ? " inner" : ""}${m.type === "watch" ? " watch-mark" : ""}${element.classList.contains("selected") ? " selected" : ""}`;
  setText(time, clock(shownAt(line)));
  setAttribute(time, "title", moment(m.time, 0));
  setText(mark, line.group ? (line.open ? "−" : "+") : glyph);
  setAttribute(element, "aria-expanded", line.group ? line.open : null);
  setAttribute(element, "aria-level", line.inner ? 2 : 1);
  mark.className = line.group ? "sign" : `sign ${name}`;
  subject.hidden = m.type === "watch" || !line.first;
  const [cluster, namespace, kind, called] = subject.children;
  setText(cluster, m.cluster ? `${visible(m.cluster)} ` : "");
  setAttribute(cluster, "data-color", m.cluster ? store.color(m.cluster) : null);
  setText(namespace, store.manyNamespaces && about.namespace ? `${visible(about.namespace)} ` : "");
  setText(kind, about.kind ? `${about.kind}/` : "");
  setText(called, about.name);
  const beside = [line.first ? `${cluster.textContent}${namespace.textContent}${about.kind}/${about.name}` : "", line.old, line.arrow, line.new, line.text, line.who];
  const left = beside.reduce((left, part) => left - (part?.length ?? 0) - 1, room - 13);
  fillChange(text, line, Math.max(leastPath, Math.min(longestPath, left)));
  setText(who, line.who ?? "");
}
