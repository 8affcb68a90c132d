// One object: what it is, its conditions over time, what belongs to it, what changed,
// and its YAML. The rest is asked of the server; what the rows say is shown at once.
import { h, setText } from "./dom.js";
import { age, ago, clock, moment, count, shortState, size, visible } from "./format.js";
import { change, diffLines, fillChange, lines, sign, telling } from "./feed.js";
import { times } from "./followed.js";
import { cellText, own } from "./columns.js";
import { spans, tone } from "./conditions.js";
import { statusClass } from "./store.js";
import { yamlBlocks } from "./yaml.js";

const mostHistory = 60, mostRelated = 12, reloadEvery = 1000;

export class Detail {
  constructor({ store, panel, api, onOpen, onClose }) {
    Object.assign(this, { store, panel, api, onOpen, onClose });
    this.key = "";
    this.answer = null; // the answer of /api/object
    this.parts = {};
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
      this.panel.scrollTop = 0;
      this.build();
    }
    this.at = at;
    this.leadTo = at;
    this.signatures = {};
    this.update();
  }

  close() {
    this.key = "";
    this.answer = null;
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
      part("facts", "Summary"), part("conditions", "Conditions"), part("related", "Owners and owned"),
      part("changes", "Changes"), part("yaml", "YAML"));
    this.parts.yaml.section.querySelector("h3").append(this.copy = h("button", { type: "button", hidden: true, onclick: () => this.copyYAML() }, "Copy"));
  }

  /** update shows what is known now, and asks for what is not. */
  update() {
    if (!this.key) return;
    const row = this.store.objects.get(this.key) ?? this.answer?.row;
    this.ask(row);
    this.drawHead(row);
    if (!row) return;
    const owners = [...this.family(row)].map((r) => `${r.row?.key ?? r.name} ${r.row?.status.state} ${r.row?.ended ?? ""}`).join();
    const columns = this.store.resources.get(row.resource)?.columns.length;
    this.part("facts", `${row.seq} ${columns} ${this.whole.labels} ${Math.floor(this.store.now() / 1000)}`, () => this.facts(row));
    this.part("related", owners, () => this.related(row));
    if (!this.answer) return;
    this.part("conditions", `${this.answer.seq} ${this.store.hello?.started} ${Math.floor(this.store.now() / 2000)}`, () => this.conditions(row));
    this.part("changes", `${this.answer.seq} ${this.store.hello?.started} ${this.at} ${this.whole.history}`, () => this.changes());
    this.part("yaml", `${this.whole.yaml} ${this.answer.yaml}`, () => this.yaml());
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
    else if (answer.status !== 404) this.askedFor = -1; // it is asked again: at once would be too soon
    this.update();
  }

  drawHead(row) {
    const resource = this.store.resources.get(row?.resource);
    setText(this.sub, row ? [resource?.kind ?? row.resource, visible(row.namespace ?? "")].filter(Boolean).join(" · ") : "Object");
    setText(this.title, visible(row?.name ?? "Not held any more"));
    this.stateLine.className = `state ${statusClass(row?.status.state)}`;
    setText(this.state, row ? (row.ended ? `Deleted ${ago(this.store.now() - row.ended)}` : row.status.state) : "");
    setText(this.message, row ? visible(row.status.message ?? "") : this.error);
  }

  facts(row) {
    const now = this.store.now(), resource = this.store.resources.get(row.resource);
    const list = h("dl", { class: "facts" });
    const fact = (name, text) => text && list.append(h("dt", {}, name), h("dd", {}, text));
    if (row.created) fact("Created", `${moment(row.created, now)}, ${age((row.ended || now) - row.created)} old`);
    if (row.changes) fact("Last change", `${moment(row.changed, now)}, ${ago(now - row.changed)}; ${count(row.changes, "change")} since dwatch started`);
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
    const now = row.ended || this.store.now(), from = Math.min(this.store.hello?.started ?? now, now - 1000);
    const all = spans(this.answer.conditions ?? [], this.answer.history?.items ?? [], from, now);
    if (!all.length) return null;
    const grid = h("div", { class: "conditions" });
    for (const c of all) {
      const text = c.spans.map(([a, b, status]) => `${status} for ${age(b - a)}`).join(", ");
      grid.append(h("span", { title: visible(c.type) }, visible(c.type)), bar(c, from, now, text),
        h("span", { class: `state ${tone(c.type, c.status)}` }, visible(c.status ?? "gone")));
      const why = [c.reason, c.message].filter(Boolean).join(": ");
      if (why && tone(c.type, c.status) !== "is-current") grid.append(h("span", { class: "why" }, visible(why)));
    }
    grid.append(h("span", { class: "span", "aria-hidden": "true" }, h("span", {}, clock(from)), h("span", {}, row.ended ? clock(now) : "now")));
    return grid;
  }

  /** family is its owners and what it owns. */
  *family(row) {
    for (const owner of row.owners ?? []) {
      yield { role: "owned by", row: this.store.objects.get(this.store.byUID.get(owner.uid)), name: `${owner.kind.toLowerCase()}/${owner.name}` };
    }
    const children = this.store.children(row).sort((a, b) => (a.ended ?? 0) - (b.ended ?? 0) || (b.first ?? 0) - (a.first ?? 0));
    for (const child of children) yield { role: "owns", row: child };
  }

  related(row) {
    const all = [...this.family(row)];
    if (!all.length) return null;
    const shown = this.whole.related ? all.slice(0, 500) : all.slice(0, mostRelated);
    const list = h("ul", { class: "related" }, ...shown.map((r) => this.relative(r)));
    const rest = all.length - shown.length;
    return rest ? [list, this.whole.related ? h("p", { class: "note" }, `and ${rest} more`) : this.more("related", `${rest} more`)] : list;
  }

  relative({ role, row, name }) {
    if (!row) return h("li", {}, h("span", { class: "role" }, role), h("span", {}, visible(name)), h("span", { class: "state" }, "not watched"));
    const kind = (this.store.resources.get(row.resource)?.kind ?? row.resource).toLowerCase();
    return h("li", { class: statusClass(row.status.state) }, h("span", { class: "role" }, role), h("span", { class: "dot" }),
      h("button", { type: "button", class: "link", onclick: () => this.onOpen(row.key, 0) }, visible(`${kind}/${row.name}`)),
      h("span", { class: "state" }, row.ended ? "Deleted" : shortState(row.status)));
  }

  changes() {
    const { items, dropped } = this.answer.history ?? { items: [], dropped: 0 };
    const all = items.filter((m) => m.feed).reverse();
    const chosen = all.findIndex((m) => m.time === this.at);
    const shown = this.whole.history ? all : all.slice(0, Math.max(mostHistory, chosen + 1));
    setText(this.parts.changes.extra, "");
    const { started } = this.store.hello ?? {}; // not known yet: a link opened the object
    if (!dropped && !all.length) return h("p", { class: "note" }, `None since dwatch started${started ? ` (${moment(started, this.store.now())})` : ""}.`);
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

  yaml() {
    const { yaml, yamlCut } = this.answer;
    setText(this.parts.yaml.extra, `${size(yaml.length)}${yamlCut ? ", cut" : ""}`);
    this.copy.hidden = false;
    const { blocks, rest } = yamlBlocks(yaml, this.whole.yaml ? Infinity : 600);
    const pre = h("pre", { class: "yaml", tabIndex: 0, role: "region", "aria-label": "The YAML of the object" }, ...blocks);
    return rest ? [pre, this.more("yaml", `${count(rest, "more line")}`)] : pre;
  }

  async copyYAML() {
    await navigator.clipboard?.writeText(this.answer?.yaml ?? "");
    setText(this.copy, "Copied");
    setTimeout(() => setText(this.copy, "Copy"), 2000);
  }

  /** lead brings the change that was asked for into view, once it is there. */
  lead() {
    if (!this.leadTo) return;
    const element = this.parts.changes.body.querySelector(`[data-time="${Number(this.leadTo)}"]`);
    if (!element) return;
    this.leadTo = 0;
    element.scrollIntoView({ block: "center" });
  }
}

function bar(condition, from, to, text) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 1000 12");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", visible(`${condition.type}: ${text || "not known"}`));
  for (const [a, b, status] of condition.spans) {
    const rect = document.createElementNS(svg.namespaceURI, "rect");
    const x = (a - from) / (to - from) * 1000;
    rect.setAttribute("x", x);
    rect.setAttribute("width", Math.max(3, (b - from) / (to - from) * 1000 - x));
    rect.setAttribute("height", 12);
    rect.setAttribute("class", tone(condition.type, status));
    svg.append(rect);
  }
  return svg;
}
