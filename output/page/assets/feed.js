// The feed: all changes and status events, newest last, with one line per field path.
import { h, setText, setAttribute } from "./dom.js";
import { clock, moment, count, visible } from "./format.js";
import { FollowUps, repeats } from "./followups.js";
import { fillChange, fold, isEvent, lines, sign } from "./lines.js";
import { Rows } from "./rows.js";
import { filter } from "./select.js";

/** The average width of a character in pixels, and the limits of a path in characters. */
const charWidth = 7.2, minPath = 16, maxPath = 100;

export class Feed {
  constructor({ store, viewport, button, onOpen, onToggle }) {
    Object.assign(this, { store, viewport, button, onOpen, onToggle });
    this.lines = [];
    this.followUps = new FollowUps(store);
    this.lastID = 0; // ID of the last message that is in lines
    this.version = -1;
    this.signature = "";
    this.cursor = -1;
    this.rows = new Rows(viewport, viewport.firstElementChild, {
      height: 22, create, render: (element, index) => this.render(element, index),
    });
    viewport.addEventListener("click", (e) => this.open(e.target.closest(".entry")?.index));
    viewport.addEventListener("keydown", (e) => this.key(e));
    viewport.addEventListener("scroll", () => this.scrolled(), { passive: true });
    for (const input of ["wheel", "pointerdown", "keydown"]) viewport.addEventListener(input, () => { this.target = 0; }, { passive: true });
    button.addEventListener("click", () => this.scrollToEnd());
    this.following = true; // keep the newest line visible
    this.target = 0; // time to scroll to; 0 means none
    this.top = 0; // last scroll position
  }

  /** scrolled stops following the newest line when the user scrolls up. It goes on following when only the layout of the
   * page has changed. */
  scrolled() {
    const { scrollTop } = this.viewport;
    this.following = !this.target && (this.isAtEnd() || this.following && scrollTop >= this.top);
    this.top = scrollTop;
    this.drawButton();
  }

  /** update adds new messages, or rebuilds all lines if the filter or older messages have changed. signature
   * identifies the filter. */
  update(state, signature) {
    const passes = filter(state, this.store).change;
    const { clientWidth } = this.viewport;
    this.narrow = clientWidth <= 640 ? Math.max(20, Math.floor((clientWidth - 44) / charWidth)) : 0; // same limit as in page.css
    this.followUps.narrow = Boolean(this.narrow);
    this.width = Math.floor(clientWidth / charWidth); // in characters
    this.flat = Boolean(state.q); // a search shows each change that it finds
    signature += this.narrow;
    const isOutdated = signature !== this.signature || this.version !== this.store.feedVersion;
    if (isOutdated) this.rebuild(passes);
    else this.extend(passes);
    this.signature = signature;
    this.version = this.store.feedVersion;
    this.rows.setHeight(parseFloat(getComputedStyle(this.viewport).getPropertyValue("--line-height")) || 22);
    this.rows.setCount(this.lines.length);
    this.following ||= !this.target && this.lines.length * this.rows.height <= this.viewport.clientHeight;
    if (this.following) {
      this.viewport.scrollTop = this.lines.length * this.rows.height;
      this.top = this.viewport.scrollTop; // the browser limits it
    }
    if (this.viewport.clientHeight) this.scrollToTarget();
    this.rows.draw();
    this.drawButton();
  }

  /** rebuild creates all lines again. The line at the top stays in place. */
  rebuild(passes) {
    const top = this.lines[Math.floor(this.viewport.scrollTop / this.rows.height)];
    const offset = this.viewport.scrollTop % this.rows.height;
    this.lines = [];
    this.followUps.clear();
    this.warnings = new Map(); // key of an Event -> its lines
    this.changes = 0; // intentional changes and Events
    this.lastID = 0;
    this.cursor = -1;
    const { feed } = this.store;
    for (const m of feed) if (passes(m)) this.push(m);
    this.lastID = feed.reduce((last, m) => Math.max(last, m.id), 0);
    this.dropped = this.store.feedDropped;
    this.lines = this.lines.flatMap((line) => [line, ...(line.group ? this.expandedLines(line.group) : [])]);
    const index = top ? this.lines.findIndex((line) => line.message === top.message) : -1;
    if (!this.following && index >= 0) {
      this.rows.setCount(this.lines.length);
      this.viewport.scrollTop = index * this.rows.height + offset;
    }
  }

  /** extend adds the messages since the last update. */
  extend(passes) {
    const { feed } = this.store;
    let from = feed.length;
    while (from > 0 && feed[from - 1].id > this.lastID) from--;
    for (const m of feed.slice(from)) {
      this.lastID = m.id;
      if (passes(m)) this.push(m);
    }
    this.removeDropped();
    if (this.needsRebuild) this.rebuild(passes); // an expanded group has new changes
    this.needsRebuild = false;
  }

  /** removeDropped removes the lines of messages that the store has dropped. The visible lines stay in place. */
  removeDropped() {
    if (this.dropped === this.store.feedDropped) return;
    this.dropped = this.store.feedDropped;
    this.followUps.removeDropped();
    for (const [key, [line]] of this.warnings) if (line.message.dropped) this.warnings.delete(key);
    const top = Math.floor(this.viewport.scrollTop / this.rows.height), selected = this.lines[this.cursor];
    let above = 0;
    this.lines = this.lines.filter((line, i) => {
      if (line.message.dropped && i < top) above++;
      if (line.message.dropped && line.counted) this.changes--;
      return !line.message.dropped;
    });
    this.cursor = selected ? this.lines.indexOf(selected) : -1;
    if (!this.following) this.viewport.scrollTop -= above * this.rows.height;
  }

  /** push adds the lines of a message. */
  push(m) {
    if (m.type === "watch" && fold(this.lines, m)) return;
    if (m.type === "change" && !m.meant && !this.flat) return this.pushFollowUp(m);
    if (isEvent(m) && !this.flat) {
      const previous = this.warnings.get(m.key);
      if (previous && !previous[0].message.dropped && this.replaceEvent(m, previous)) return;
    }
    this.changes++;
    const all = lines(m, this.narrow);
    all[0].counted = true;
    if (isEvent(m)) this.warnings.set(m.key, all);
    this.lines.push(...all);
    const group = this.followUps.groups.get(`#${m.seq}`); // follow-ups that arrived before their cause
    if (group && !group.cause) {
      this.lines.splice(this.lines.indexOf(group.line), 1);
      this.place(group);
    }
  }

  /** replaceEvent replaces the lines of a repeated Event in place. It reports whether they were found. */
  replaceEvent(m, previous) {
    const at = this.lines.indexOf(previous[0]), all = lines(m, this.narrow), more = all.length - previous.length;
    if (at < 0) return false;
    Object.assign(all[0], { counted: previous[0].counted, since: previous[0].since ?? previous[0].message.time });
    all.at(-1).last = m.time;
    this.lines.splice(at, previous.length, ...all);
    this.warnings.set(m.key, all);
    if (this.cursor > at) this.cursor += more;
    if (!this.following && at * this.rows.height < this.viewport.scrollTop) this.viewport.scrollTop += more * this.rows.height;
    return true;
  }

  /** pushFollowUp adds a follow-up change to its group. The line of the group is below its cause if that is known. A
   * group of one change without a known cause shows that change (single). */
  pushFollowUp(m) {
    const early = m.lead && this.followUps.takeEarly(m);
    if (early) {
      const at = this.lines.lastIndexOf(early.single[0]);
      if (at >= 0) this.lines.splice(at, early.single.length);
      early.line.message.lead = m.lead;
      this.pushFollowUp(early.line.message);
    }
    const { group, isNew } = this.followUps.add(m);
    if (this.followUps.isExpanded(group)) this.needsRebuild = true;
    if (isNew && group.lead) return this.place(group);
    if (isNew) {
      group.single = lines(m, this.narrow);
      return void this.lines.push(...group.single);
    }
    if (!group.single) return;
    const at = this.lines.lastIndexOf(group.single[0]);
    if (at >= 0) this.lines.splice(at, group.single.length, group.line);
    else this.lines.push(group.line);
    group.single = null;
  }

  /** place inserts the line of a group below its cause, or at the end if the cause is not in the feed. */
  place(group) {
    const at = this.lines.findLastIndex((line) => line.message.seq === group.lead);
    if (at < 0) return void this.lines.push(group.line);
    group.cause = this.lines[at].message;
    group.line.first = false;
    this.lines.splice(at + 1, 0, group.line);
    if (this.cursor > at) this.cursor++;
    if (!this.following && (at + 1) * this.rows.height <= this.viewport.scrollTop) this.viewport.scrollTop += this.rows.height;
  }

  /** expandedLines returns the lines of the changes of an expanded group. */
  expandedLines(group) {
    if (!this.followUps.isExpanded(group) || group.single) return [];
    return this.followUps.expandedChanges(group).flatMap((m) => {
      const all = lines(m, this.narrow);
      all.forEach((line) => { line.inner = true; });
      if (m.times) all.at(-1).text = `${all.at(-1).text ?? ""}${repeats(m)}`;
      return all;
    });
  }

  /** summary describes the number of changes, and whether older ones are missing. */
  summary() {
    const followed = this.followUps.count ? `, ${this.followUps.count.toLocaleString("en")} that followed` : "";
    const text = count(this.changes ?? 0, "change") + followed;
    return this.store.feedDropped || this.isCutOff ? `${text}; older ones are not retained` : text;
  }

  /** scrollToTime scrolls to the changes before a time, and stays there until the user scrolls. 0 follows the newest. */
  scrollToTime(time) {
    this.target = time;
    this.following = !time;
    if (this.viewport.clientHeight) this.scrollToTarget();
  }

  scrollToTarget() {
    if (!this.target) return;
    const until = this.lines.findLastIndex((line) => line.first && timeOf(line) <= this.target);
    let end = until + 1;
    while (this.lines[end] && !this.lines[end].first) end++;
    this.viewport.scrollTop = end * this.rows.height - this.viewport.clientHeight;
    this.top = this.viewport.scrollTop;
    this.following = false;
    this.drawButton();
  }

  isAtEnd() {
    return this.viewport.scrollTop + this.viewport.clientHeight >= this.viewport.scrollHeight - 1.5 * this.rows.height;
  }

  scrollToEnd() {
    this.target = 0;
    this.following = true;
    this.viewport.scrollTop = this.viewport.scrollHeight;
    this.drawButton();
  }

  drawButton() { this.button.hidden = this.following || !this.lines.length; }

  /** open opens the object of a line, or expands or collapses a group. */
  open(index) {
    const line = this.lines[index];
    if (!line) return;
    this.cursor = index;
    if (line.group) return this.toggle(line.group);
    this.rows.draw();
    if (line.message.key) this.onOpen(line.message.key, line.message.time);
  }

  /** toggle expands or collapses a group. */
  toggle(group) {
    this.followUps.toggle(group);
    this.following &&= !this.followUps.isExpanded(group); // the user reads the expanded group
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
    if (element.line === line && !line.group && element.message === line.message && element.manyNamespaces === this.store.manyNamespaces && element.width === this.width) return;
    element.width = this.width;
    element.line = line;
    element.message = line.message;
    element.manyNamespaces = this.store.manyNamespaces;
    if (line.group) this.followUps.update(line.group);
    element.id = `line-${index}`;
    fill(element, line, this.store, this.width);
  }
}

/** timeOf returns the time that a line shows. */
const timeOf = (line) => line.since ?? line.group?.from ?? line.message.time;

/** create returns the element of a line. */
function create() {
  const part = (name) => h("span", { class: name });
  return h("div", { role: "treeitem", class: "entry", "aria-selected": "false" },
    h("time"), part("sign"), h("span", { class: "subject" }, h("em", { class: "cluster" }), h("u"), h("i"), h("b")),
    h("span", { class: "text" }, part("path"), part("old"), part("arrow"), part("new-value"), part("words")), part("who"));
}

/** fill writes a line into its element. width is the width of the feed in characters. */
function fill(element, line, store, width) {
  const m = line.message, [glyph, name] = sign(m);
  const [time, signElement, subject, text, who] = element.children;
  const involved = line.subject ?? { kind: m.resource && store.kind(m.resource), name: visible(m.name ?? ""), namespace: m.namespace };
  element.className = `entry${line.first ? "" : " more"}${line.group ? " followed" : ""}${line.inner ? " inner" : ""}${m.type === "watch" ? " notice" : ""}${element.classList.contains("selected") ? " selected" : ""}`;
  setText(time, clock(timeOf(line)));
  setAttribute(time, "title", moment(m.time, 0));
  setText(signElement, line.group ? (line.open ? "−" : "+") : glyph);
  setAttribute(element, "aria-expanded", line.group ? line.open : null);
  setAttribute(element, "aria-level", line.inner ? 2 : 1);
  signElement.className = line.group ? "sign" : `sign ${name}`;
  subject.hidden = m.type === "watch" || !line.first;
  const [cluster, namespace, kind, objectName] = subject.children;
  setText(cluster, m.cluster ? `${visible(m.cluster)} ` : "");
  setAttribute(cluster, "data-color", m.cluster ? store.color(m.cluster) : null);
  setText(namespace, store.manyNamespaces && involved.namespace ? `${visible(involved.namespace)} ` : "");
  setText(kind, involved.kind ? `${involved.kind}/` : "");
  setText(objectName, involved.name);
  const otherTexts = [line.first ? `${cluster.textContent}${namespace.textContent}${involved.kind}/${involved.name}` : "", line.old, line.arrow, line.new, line.text, line.who];
  const pathWidth = otherTexts.reduce((left, text) => left - (text?.length ?? 0) - 1, width - 13);
  fillChange(text, line, Math.max(minPath, Math.min(maxPath, pathWidth)));
  setText(who, line.who ?? "");
}
