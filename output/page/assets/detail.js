// One object: what it is, its conditions over time, what belongs to it, what changed,
// and its YAML. The rest is asked of the server; what the rows say is shown at once.
import { h, setText } from "./dom.js";
import { age, ago, clock, moment, count, shortState, size, visible } from "./format.js";
import { change, diffLines, fillChange, lines, sign, telling } from "./lines.js";
import { remembered } from "./before.js";
import { ledUp, wrongSince } from "./leadup.js";
import { times } from "./followed.js";
import { cellText, own } from "./columns.js";
import { spans, tone, windowOf } from "./conditions.js";
import { statusClass } from "./store.js";
import { Moments, diffText } from "./moments.js";
import { yamlBlocks } from "./yaml.js";

const mostHistory = 60, mostRelated = 14, mostDeep = 5, mostFamily = 2000, mostEvents = 12, reloadEvery = 1000, eventsEvery = 5000;

export class Detail {
  constructor({ store, panel, api, onOpen, onClose, onEvents = () => {} }) {
    Object.assign(this, { store, panel, api, onOpen, onClose, onEvents });
    this.key = "";
    this.answer = null; // the answer of /api/object
    this.parts = {};
    this.moments = new Moments({ api, onChange: () => this.update() });
  }

  /** open shows an object, and leads to the change at this time. */
  open(key, at) {
    if (key !== this.key) {
      this.key = key;
      this.answer = null;
      this.error = "";
      this.askedAt = -reloadEvery;
      this.whole = {};
      this.askedFor = -1;
      this.events = null; // the answer of /api/about
      this.eventsAt = -eventsEvery;
      this.onEvents(key, null);
      this.before = null; // the answer of /api/before
      this.leadUp = null; // the answer of /api/leadup
      this.leadUpFor = undefined;
      this.panel.scrollTop = 0;
      this.build();
      this.moments.open(key);
    }
    if (at !== this.at || !this.answer) this.moments.lead(at);
    this.at = at;
    this.leadTo = at;
    this.signatures = {};
    this.update();
  }

  /** again asks for all anew: another time is shown. */
  again() {
    if (!this.key) return;
    this.askedFor = -1;
    this.askedAt = this.eventsAt = -Infinity;
    this.moments.open(this.key);
    this.update();
  }

  /** leave shows nothing of an object that was not there then. */
  leave() {
    this.answer = this.events = null;
    this.signatures = {};
    for (const { section } of Object.values(this.parts)) section.hidden = true;
  }

  close() {
    this.key = "";
    this.answer = null;
    this.onEvents("", null);
    this.panel.replaceChildren();
  }

  build() {
    const part = (name, title) => {
      const body = h("div");
      const extra = h("small");
      const section = h("section", { "aria-label": title, hidden: true }, h("h3", {}, title, extra), body);
      this.parts[name] = { section, body, extra };
      return section;
    };
    this.title = h("h2", { tabIndex: -1 });
    this.sub = h("p");
    this.dot = h("span", { class: "dot" });
    this.state = h("b");
    this.message = h("span");
    this.stateLine = h("div", { class: "state" }, this.dot, this.state, this.message);
    const close = h("button", { type: "button", class: "round", "aria-label": "Close the object", title: "Close (esc)", onclick: () => this.onClose() }, "×");
    this.panel.replaceChildren(
      h("header", {}, h("div", {}, this.sub, this.title), close, this.stateLine),
      part("facts", "Summary"), part("leadup", "The 10 minutes before it went wrong"), part("containers", "Containers"), part("conditions", "Conditions"), part("related", "Owners and owned"),
      part("events", "Events"), part("changes", "Changes"), part("before", this.store.hello?.past ? "Before what is shown" : "Before dwatch started"), part("yaml", "YAML"));
    this.parts.yaml.section.querySelector("h3").after(this.moments.element);
    this.parts.yaml.section.querySelector("h3").append(this.copy = h("button", { type: "button", hidden: true, onclick: () => this.copyYAML() }, "Copy"));
  }

  /** update shows what is known now, and asks for what is not. */
  update() {
    if (!this.key) return;
    const row = this.store.objects.get(this.key) ?? this.answer?.row;
    this.ask(row);
    this.askEvents(row);
    this.askBefore(row);
    this.askLeadUp(row);
    this.drawHead(row);
    if (!row) return;
    const owners = [...this.family(row)].map((r) => `${r.row?.key ?? r.name} ${r.row?.status.state} ${r.row?.status.message ?? ""} ${r.row?.ended ?? ""}`).join();
    const columns = this.store.resources.get(row.resource)?.columns.length;
    this.part("facts", `${row.seq} ${columns} ${this.whole.labels} ${Math.floor(this.store.now() / 1000)}`, () => this.facts(row));
    this.part("leadup", `${JSON.stringify(this.leadUp)} ${this.whole.leadup}`, () => this.leadUp && ledUp(this.leadUp, { store: this.store, whole: this.whole.leadup, more: (text) => this.more("leadup", text), onOpen: this.onOpen }));
    this.leadToLeadUp();
    this.part("related", owners, () => this.related(row));
    this.part("events", `${JSON.stringify(this.events)} ${this.whole.events} ${Math.floor(this.store.now() / 2000)}`, () => this.happenings());
    this.part("before", `${JSON.stringify(this.before)} ${this.whole.before}`, () => this.before && remembered(this.before, this.store.now(), this.whole.before, (text) => this.more("before", text)));
    if (!this.answer) return;
    this.part("containers", JSON.stringify(this.answer.containers ?? []), () => this.containers());
    this.part("conditions", `${this.answer.seq} ${this.store.hello?.started} ${Math.floor(this.store.now() / 2000)}`, () => this.conditions(row));
    this.part("changes", `${this.answer.seq} ${this.store.hello?.started} ${this.at} ${this.whole.history}`, () => this.changes());
    this.moments.fill(this.answer.moments ?? [], Boolean(row.ended), row.first);
    const shown = this.moments.shown();
    this.part("yaml", `${this.whole.yaml} ${shown ? JSON.stringify(shown) : `${this.answer.yaml} ${this.answer.yamlNote}`}`, () => this.yaml(shown));
    this.lead();
  }

  /** part draws a section if what it shows became another; without anything, it is hidden. */
  part(name, signature, draw) {
    this.signatures ??= {};
    if (this.signatures[name] === signature) return;
    const { section, body } = this.parts[name], selection = getSelection();
    // Who marks text to copy it keeps it: it is drawn when that is over.
    if (!selection.isCollapsed && body.contains(selection.anchorNode)) return;
    this.signatures[name] = signature;
    // Who has the keyboard in this section keeps it.
    const focused = [...body.querySelectorAll("button")].indexOf(document.activeElement);
    const content = draw();
    section.hidden = !content;
    if (content) body.replaceChildren(...[content].flat());
    if (focused >= 0) body.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }

  async ask(row) {
    const seq = row?.seq ?? 0, now = performance.now();
    if (this.asking || this.askedFor === seq || now - this.askedAt < reloadEvery && (this.answer || this.error)) return;
    const key = this.key;
    this.askedFor = seq;
    this.askedAt = now;
    this.asking = true;
    const answer = await this.api("object", { key });
    this.asking = false;
    if (key !== this.key) return void this.update();
    this.error = answer.error ?? "";
    if (!answer.error) this.answer = answer;
    else if (answer.status === 404 && this.store.hello?.past) this.leave();
    else if (answer.status !== 404) this.askedFor = -1; // it is asked again: at once would be too soon
    this.update();
  }

  /** askEvents asks for the Events about it and what it owns: they come without a change of it. */
  async askEvents(row) {
    const now = performance.now(), key = this.key;
    if (!row || this.askingEvents || now - this.eventsAt < eventsEvery) return;
    this.eventsAt = now;
    this.askingEvents = true;
    const answer = await this.api("about", { key });
    this.askingEvents = false;
    if (key !== this.key) return void (this.eventsAt = -eventsEvery);
    if (answer.status !== 404) this.onEvents(key, this.events = answer);
    this.update();
  }

  /** askBefore asks what was before dwatch began: that stays as it is. */
  async askBefore(row) {
    const { key } = this;
    if (!row?.initial || this.askingBefore || this.before && !this.before.error) return;
    if (this.before && performance.now() - this.beforeAt < eventsEvery) return; // what went wrong may pass
    Object.assign(this, { askingBefore: true, beforeAt: performance.now() });
    const answer = await this.api("before", { key });
    this.askingBefore = false;
    if (key !== this.key) return void this.update(); // another one is to be asked about
    this.before = answer;
    this.update();
  }

  /** askLeadUp asks what changed before something went wrong with it, once for each time that it does. */
  async askLeadUp(row) {
    const wrong = wrongSince(this.store, row), asked = JSON.stringify([wrong, this.store.stream]);
    const again = wrong?.at && this.leadUp?.error && performance.now() - this.leadUpAt >= eventsEvery; // what went wrong may pass
    if (asked === this.leadUpFor && !again) return;
    Object.assign(this, { leadUpFor: asked, leadUpAt: Infinity }); // while it is asked, it is not asked again
    if (!wrong) return void (this.leadUp = null);
    if (!wrong.at) return void (this.leadUp = { error: "It was so when it was seen first: what was before is not known." });
    const answer = await this.api("leadup", wrong);
    if (asked !== this.leadUpFor) return;
    this.leadUpAt = performance.now();
    if (answer.status !== 404) this.leadUp = answer;
    this.update();
  }

  /** showLeadUp brings what changed before into view, once it is there. */
  showLeadUp() {
    this.leadingUp = true;
    this.leadToLeadUp();
  }

  leadToLeadUp() {
    if (!this.leadingUp || this.parts.leadup.section.hidden) return;
    this.leadingUp = false;
    this.parts.leadup.section.scrollIntoView({ block: "start" });
  }

  /** missing says why there is no row. */
  missing() {
    const past = this.store.hello?.past;
    if (!past) return "Not held any more";
    return past.unknown ? "Not known then" : "Not there then";
  }

  drawHead(row) {
    const resource = this.store.resources.get(row?.resource);
    setText(this.sub, row ? [resource?.kind ?? row.resource, visible(row.cluster ?? ""), visible(row.namespace ?? "")].filter(Boolean).join(" · ") : "Object");
    setText(this.title, visible(row?.name ?? this.missing()));
    this.stateLine.className = `state ${statusClass(row?.status.state)}`;
    setText(this.state, row ? (row.ended ? `Deleted ${ago(this.store.now() - row.ended)}` : row.status.state) : "");
    setText(this.message, row ? visible(row.status.message ?? "") : this.error);
  }

  facts(row) {
    const now = this.store.now(), resource = this.store.resources.get(row.resource);
    const list = h("dl", { class: "facts" });
    const fact = (name, text) => text && list.append(h("dt", {}, name), h("dd", {}, text));
    if (row.created) fact("Created", `${moment(row.created, now)}, ${age((row.ended || now) - row.created)} old`);
    if (row.changes) fact("Last change", `${moment(row.changed, now)}, ${ago(now - row.changed)}; ${count(row.changes, "change")} since ${this.store.began()}`);
    if (resource) for (const i of own(resource)) fact(visible(resource.columns[i].name), cellText(row.cells?.[i], resource.columns[i], row.ended || now));
    const labels = Object.entries(row.labels ?? {});
    if (labels.length) {
      const shown = this.whole.labels ? labels : labels.slice(0, 6);
      const rest = labels.length - shown.length;
      const more = rest ? this.more("labels", `${rest} more`) : row.labelsMore ? `and ${row.labelsMore} more, in the YAML` : "";
      list.append(h("dt", {}, "Labels"), h("dd", {}, ...shown.map(([k, v]) => h("div", { class: "mono" }, visible(`${k}=${v}`))), more));
    }
    return list;
  }

  more(name, text) {
    return h("button", { type: "button", class: "link", onclick: () => { this.whole[name] = true; this.signatures = {}; this.update(); } }, text);
  }

  conditions(row) {
    const now = row.ended || this.store.now(), begin = Math.min(row.first ?? now, now);
    const found = this.answer.conditionsBefore ?? [], [from] = windowOf(found, begin, now);
    const all = spans(this.answer.conditions ?? [], this.answer.history?.items ?? [], from, now, begin, found);
    if (!all.length) return null;
    if (!this.answer.conditions) return h("p", { class: "note" }, visible(this.answer.yamlNote ?? "Not known.")); // those that changed may be there still
    const grid = h("div", { class: "conditions" });
    for (const c of all) {
      const since = c.since ? `${c.since < begin ? "since before dwatch saw it" : "since"}: ${moment(c.since, now)}` : "";
      grid.append(h("span", { title: visible(c.type) }, visible(c.type)), bar(c, from, now),
        h("span", { class: `state ${tone(c.type, c.status)}`, title: since }, visible(c.status ?? "gone"), c.since && c.status ? h("small", {}, age(now - c.since)) : ""));
      const why = [c.reason, c.message].filter(Boolean).join(": ");
      if (why && tone(c.type, c.status) !== "is-current") grid.append(h("span", { class: "why" }, visible(why)));
    }
    grid.append(h("span", { class: "span", "aria-hidden": "true" }, h("span", {}, clock(from)), h("span", {}, row.ended ? clock(now) : "now")));
    if (all.some((c) => c.before)) grid.append(h("span", { class: "why" }, `Thin: before ${clock(begin)}, as they say; dwatch did not see it.`));
    return grid;
  }

  containers() {
    const all = this.answer.containers ?? [];
    if (!all.length) return null;
    return h("ul", { class: "containers" }, ...all.map((c) => {
      const about = [c.restarts ? count(c.restarts, "restart") : "", ...(c.limits ?? []).map((l) => `limit ${l}`)].filter(Boolean).join(", ");
      const said = [["", c.message], [`Before: ${c.last}`, c.lastMessage]].filter(([head, text]) => text || (head && c.last))
        .map(([head, text]) => h("p", { class: "what" }, visible([head, text].filter(Boolean).join(": "))));
      return h("li", { class: statusClass(c.look) }, h("span", { class: "dot" }), h("b", {}, visible(c.name)), h("span", { class: "role" }, c.role ?? ""),
        h("span", { class: "state" }, visible(c.state)), h("span", { class: "note" }, visible([about, c.image].filter(Boolean).join(" · "))), ...said);
    }));
  }

  /** family is the tree that it stands in: what owns it, it, and what it owns; of what it owns first what is
   * not as it should be, and last what was deleted. */
  *family(row) {
    const up = [];
    for (let one = row; (one = this.store.owner(one)) && up.length < mostDeep && !up.includes(one);) up.unshift(one);
    const top = up[0] ?? row;
    let depth = 0;
    for (const owner of top.owners ?? []) {
      if (!this.store.held(top, owner.uid)) yield { depth, name: `${owner.kind.toLowerCase()}/${owner.name}` };
    }
    if (top.owners?.length) depth++;
    for (const one of up) yield { depth: depth++, row: one };
    yield { depth, row, self: true };
    yield* this.below(row, depth + 1, new Set([row]));
  }

  *below(row, depth, seen) {
    const rank = (r) => (r.ended ? 2 : ["Failed", "InProgress"].includes(r.status.state) ? 0 : 1);
    for (const child of this.store.children(row).sort((a, b) => rank(a) - rank(b) || (b.first ?? 0) - (a.first ?? 0))) {
      if (seen.has(child) || seen.size > mostFamily) continue;
      seen.add(child);
      yield { depth, row: child };
      if (depth < mostDeep) yield* this.below(child, depth + 1, seen);
    }
  }

  related(row) {
    const all = [...this.family(row)];
    if (all.length < 2) return null;
    const shown = this.whole.related ? all.slice(0, 500) : all.slice(0, mostRelated);
    const list = h("ul", { class: "related" }, ...shown.map((r) => this.relative(r)));
    const rest = all.length - shown.length;
    return rest ? [list, this.whole.related ? h("p", { class: "note" }, `and ${rest} more`) : this.more("related", `${rest} more`)] : list;
  }

  relative({ depth, row, name, self }) {
    const role = `deep${Math.min(depth, mostDeep)}`;
    if (!row) return h("li", { class: role }, h("span", {}, visible(name)), h("span", { class: "state" }, "not watched"));
    const kind = (this.store.resources.get(row.resource)?.kind ?? row.resource).toLowerCase(), called = visible(`${kind}/${row.name}`);
    const state = h("span", { class: "state", title: visible(row.status.message ?? "") }, row.ended ? "Deleted" : shortState(row.status));
    return h("li", { class: `${role} ${row.ended ? "is-unknown" : statusClass(row.status.state)}` }, h("span", { class: "dot" }),
      self ? h("b", {}, called) : h("button", { type: "button", class: "link", onclick: () => this.onOpen(row.key, 0) }, called), state);
  }

  happenings() {
    if (!this.events) return null;
    if (this.events.error) return h("p", { class: "note" }, visible(this.events.error));
    const all = this.events.items ?? [];
    if (!all.length) return null;
    const shown = this.whole.events ? all : all.slice(0, mostEvents), now = this.store.now();
    const list = h("ul", { class: "history" }, ...shown.map((e) => h("li", { class: e.warning ? "warning" : "" },
      h("div", { class: "head" }, h("time", { title: moment(e.time, 0) }, ago(now - e.time)),
        h("b", {}, visible(`${e.count > 1 ? `×${e.count} ` : ""}${e.warning ? "Warning " : ""}${e.reason}`)),
        e.about ? h("span", {}, visible(e.about)) : null, h("span", { class: "who" }, visible(e.by ?? ""))),
      h("p", {}, visible(e.message)))));
    const rest = all.length - shown.length;
    return rest ? [list, this.more("events", `${rest} older`)] : list;
  }

  changes() {
    const { items, dropped } = this.answer.history ?? { items: [], dropped: 0 };
    const all = items.filter((m) => m.feed).reverse();
    const chosen = all.findIndex((m) => m.time === this.at);
    const shown = this.whole.history ? all : all.slice(0, Math.max(mostHistory, chosen + 1));
    setText(this.parts.changes.extra, "");
    const { started } = this.store.hello ?? {}; // not known yet: a link opened the object
    if (!dropped && !all.length) return h("p", { class: "note" }, `None since ${this.store.began()}${started && !this.store.hello.past ? ` (${moment(started, this.store.now())})` : ""}.`);
    const missed = this.at && chosen < 0 ? [h("li", { class: "selected", "data-time": String(this.at) }, h("p", { class: "note" }, `The change of ${moment(this.at, this.store.now())} is not held any more.`))] : [];
    const list = h("ul", { class: "history" }, ...missed, ...shown.map((m) => this.happened(m)));
    const rest = all.length - shown.length;
    return [list, rest ? this.more("history", `${rest} older`) : null,
      dropped ? h("p", { class: "note" }, `${count(dropped, "older change")} not held any more.`) : null].filter(Boolean);
  }

  happened(m) {
    const [glyph, name] = sign(m);
    const writers = [...new Set((m.changes ?? []).map((c) => c.who).filter(Boolean))];
    const words = m.event === "MODIFIED" ? visible(m.text ?? "") : lines({ ...m, changes: [] })[0].text;
    return h("li", { class: m.time === this.at ? "selected" : "", "data-time": String(m.time) },
      h("div", { class: "head" }, h("time", { title: moment(m.time, 0) }, clock(m.time)), h("span", { class: `sign ${name}` }, glyph),
        h("span", {}, words), h("span", { class: "who" }, visible(writers.join(", ")))),
      ...telling(m).flatMap((c) => [change(c), ...diffLines(c, 20)]).map((line) => {
        const element = h("div", { class: `what${line.diff ? " line" : ""}` }, ...["path", "old", "arrow", "new-value", "words"].map((n) => h("span", { class: n })));
        fillChange(element, line, 400);
        return element;
      }),
      m.more ? h("p", { class: "note" }, `and ${count(m.more, "more change")}`) : null,
      m.times ? h("p", { class: "note" }, `so${times(m)}`.replace(", ", " ")) : null);
  }

  yaml(shown) {
    const { text: yaml, cut: yamlCut, diff, more, note } = shown ?? { text: this.answer.yaml, cut: this.answer.yamlCut, note: this.answer.yamlNote };
    this.copied = diff?.join("\n") ?? yaml ?? "";
    setText(this.parts.yaml.extra, yaml === undefined ? "" : `${size(yaml.length)}${yamlCut ? ", cut" : ""}`);
    this.copy.hidden = !this.copied;
    if (diff) return [note ? h("p", { class: "note" }, note) : null, diffText(diff), more ? h("p", { class: "note" }, `and ${count(more, "more line")}`) : null].filter(Boolean);
    if (yaml === undefined) return h("p", { class: "note" }, visible(note));
    const { blocks, rest } = yamlBlocks(yaml, this.whole.yaml ? Infinity : 600);
    const pre = h("pre", { class: "yaml", tabIndex: 0, role: "region", "aria-label": "The YAML of the object" }, ...blocks);
    return [note ? h("p", { class: "note" }, note) : null, pre, rest ? this.more("yaml", `${count(rest, "more line")}`) : null].filter(Boolean);
  }

  async copyYAML() {
    await navigator.clipboard?.writeText(this.copied);
    setText(this.copy, "Copied");
    setTimeout(() => setText(this.copy, "Copy"), 2000);
  }

  /** lead brings the change that was asked for into view, once it is there: of those that were seen at the
   * same moment, which all are chosen, the first. */
  lead() {
    if (!this.leadTo) return;
    const element = [...this.parts.changes.body.querySelectorAll(`[data-time="${Number(this.leadTo)}"]`)].at(-1);
    if (!element) return;
    this.leadTo = 0;
    element.scrollIntoView({ block: "center" });
  }
}

function bar(condition, from, to) {
  const long = ([a, b, status]) => `${status} for ${age(b - a)}`, { before } = condition;
  const text = [...(before ? [`${before[2]} since ${moment(before[3], to)}, as it says: not seen by dwatch`] : []), ...condition.spans.map(long)].join(", ");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 1000 12");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", visible(`${condition.type}: ${text || "not known"}`));
  const title = svg.appendChild(document.createElementNS(svg.namespaceURI, "title"));
  title.textContent = svg.getAttribute("aria-label");
  for (const [a, b, status, said] of [...(before ? [before] : []), ...condition.spans]) {
    const rect = document.createElementNS(svg.namespaceURI, "rect");
    const x = (a - from) / (to - from) * 1000;
    rect.setAttribute("x", x);
    rect.setAttribute("width", Math.max(3, (b - from) / (to - from) * 1000 - x));
    rect.setAttribute("y", said ? 4 : 0);
    rect.setAttribute("height", said ? 4 : 12);
    rect.setAttribute("class", tone(condition.type, status));
    svg.append(rect);
  }
  return svg;
}
