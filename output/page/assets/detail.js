// The panel of one object: summary, conditions over time, related objects, Events, changes and YAML. The data of
// its row is shown at once; everything else is queried.
import { h, setText } from "./dom.js";
import { age, ago, clock, moment, count, shortState, size, visible } from "./format.js";
import { changeLine, diffLines, fillChange, lines, remainingChanges, sign } from "./lines.js";
import { reconstructedElements } from "./reconstructed.js";
import { leadUpElements, problemStart } from "./leadup.js";
import { repeats } from "./followups.js";
import { cellText, own } from "./columns.js";
import { spans, tone, windowOf } from "./conditions.js";
import { statusClass } from "./store.js";
import { VersionPicker, diffElement } from "./versions.js";
import { yamlBlocks } from "./yaml.js";

/** Entries that are shown at first, the depth and size of the tree of related objects, and, in ms, how often the
 * object is queried at most and how often its Events are. */
const historyLimit = 60, relatedLimit = 14, depthLimit = 5, familyLimit = 2000, eventLimit = 12, reloadInterval = 1000, eventInterval = 5000;

export class Detail {
  constructor({ store, panel, api, onOpen, onClose, onEvents = () => {} }) {
    Object.assign(this, { store, panel, api, onOpen, onClose, onEvents });
    this.key = "";
    this.answer = null; // the answer of /api/object
    this.sections = {};
    this.versions = new VersionPicker({ api, onChange: () => this.update() });
  }

  /** open shows an object, and scrolls to its change at a time. at of 0 selects no change. */
  open(key, at) {
    if (key !== this.key) {
      this.key = key;
      this.answer = null;
      this.error = "";
      this.queriedAt = -reloadInterval;
      this.expanded = {}; // names of lists that are shown completely
      this.queriedSeq = -1;
      this.events = null; // the answer of /api/about
      this.eventsAt = -eventInterval;
      this.onEvents(key, null);
      this.before = null; // the answer of /api/before
      this.leadUp = null; // the answer of /api/leadup
      this.leadUpFor = undefined;
      this.panel.scrollTop = 0;
      this.build();
      this.versions.open(key);
    }
    if (at !== this.at || !this.answer) this.versions.select(at);
    this.at = at;
    this.scrollTarget = at;
    this.signatures = {};
    this.update();
  }

  /** reload queries everything again, since another time is displayed. */
  reload() {
    if (!this.key) return;
    this.queriedSeq = -1;
    this.queriedAt = this.eventsAt = -Infinity;
    this.versions.open(this.key);
    this.update();
  }

  /** clear hides all sections, for an object that did not exist at the displayed time. */
  clear() {
    this.answer = this.events = null;
    this.signatures = {};
    for (const { section } of Object.values(this.sections)) section.hidden = true;
  }

  close() {
    this.key = "";
    this.answer = null;
    this.onEvents("", null);
    this.panel.replaceChildren();
  }

  /** build creates the empty panel. */
  build() {
    const add = (name, title) => {
      const body = h("div");
      const extra = h("small");
      const section = h("section", { "aria-label": title, hidden: true }, h("h3", {}, title, extra), body);
      this.sections[name] = { section, body, extra };
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
      add("facts", "Summary"), add("leadup", "The 10 minutes before it went wrong"), add("containers", "Containers"), add("conditions", "Conditions"), add("related", "Owners and owned"),
      add("events", "Events"), add("changes", "Changes"), add("before", this.store.hello?.past ? "Before what is shown" : "Before dwatch started"), add("yaml", "YAML"));
    this.sections.yaml.section.querySelector("h3").after(this.versions.element);
    this.sections.yaml.section.querySelector("h3").append(this.copy = h("button", { type: "button", hidden: true, onclick: () => this.copyYAML() }, "Copy"));
  }

  /** update draws what has changed, and queries what is missing or outdated. */
  update() {
    if (!this.key) return;
    const row = this.store.objects.get(this.key) ?? this.answer?.row;
    this.queryObject(row);
    this.queryEvents(row);
    this.queryBefore(row);
    this.queryLeadUp(row);
    this.drawHead(row);
    if (!row) return;
    const family = [...this.family(row)].map((r) => `${r.row?.key ?? r.name} ${r.row?.status.state} ${r.row?.status.message ?? ""} ${r.row?.ended ?? ""}`).join();
    const columns = this.store.resources.get(row.resource)?.columns.length;
    this.drawSection("facts", `${row.seq} ${columns} ${this.expanded.labels} ${Math.floor(this.store.now() / 1000)}`, () => this.facts(row));
    this.drawSection("leadup", `${JSON.stringify(this.leadUp)} ${this.expanded.leadup}`, () => this.leadUp && leadUpElements(this.leadUp, { store: this.store, showAll: this.expanded.leadup, moreButton: (text) => this.moreButton("leadup", text), onOpen: this.onOpen }));
    this.scrollToLeadUp();
    this.drawSection("related", family, () => this.related(row));
    this.drawSection("events", `${JSON.stringify(this.events)} ${this.expanded.events} ${Math.floor(this.store.now() / 2000)}`, () => this.eventList());
    this.drawSection("before", `${JSON.stringify(this.before)} ${this.expanded.before}`, () => this.before && reconstructedElements(this.before, this.store.now(), this.expanded.before, (text) => this.moreButton("before", text)));
    if (!this.answer) return;
    this.drawSection("containers", JSON.stringify(this.answer.containers ?? []), () => this.containers());
    this.drawSection("conditions", `${this.answer.seq} ${this.store.hello?.started} ${Math.floor(this.store.now() / 2000)}`, () => this.conditions(row));
    this.drawSection("changes", `${this.answer.seq} ${this.store.hello?.started} ${this.at} ${this.expanded.history}`, () => this.changes());
    this.versions.setVersions(this.answer.moments ?? [], Boolean(row.ended), row.first);
    const content = this.versions.content();
    this.drawSection("yaml", `${this.expanded.yaml} ${content ? JSON.stringify(content) : `${this.answer.yaml} ${this.answer.yamlNote}`}`, () => this.yaml(content));
    this.scrollToChange();
  }

  /** drawSection draws a section if its signature has changed. draw returns the content, or null to hide the section. */
  drawSection(name, signature, draw) {
    this.signatures ??= {};
    if (this.signatures[name] === signature) return;
    const { section, body } = this.sections[name], selection = getSelection();
    // Drawing would drop the user's text selection, so it waits until nothing is selected.
    if (!selection.isCollapsed && body.contains(selection.anchorNode)) return;
    this.signatures[name] = signature;
    // Keep the keyboard focus.
    const focused = [...body.querySelectorAll("button")].indexOf(document.activeElement);
    const content = draw();
    section.hidden = !content;
    if (content) body.replaceChildren(...[content].flat());
    if (focused >= 0) body.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }

  async queryObject(row) {
    const seq = row?.seq ?? 0, now = performance.now();
    if (this.querying || this.queriedSeq === seq || now - this.queriedAt < reloadInterval && (this.answer || this.error)) return;
    const key = this.key;
    this.queriedSeq = seq;
    this.queriedAt = now;
    this.querying = true;
    const answer = await this.api("object", { key });
    this.querying = false;
    if (key !== this.key) return void this.update();
    this.error = answer.error ?? "";
    if (!answer.error) this.answer = answer;
    else if (answer.status === 404 && this.store.hello?.past) this.clear();
    else if (answer.status !== 404) this.queriedSeq = -1; // retry after reloadInterval
    this.update();
  }

  /** queryEvents queries the Events about the object and its owned objects. They appear without a change of the
   * object, so it polls. */
  async queryEvents(row) {
    const now = performance.now(), key = this.key;
    if (!row || this.queryingEvents || now - this.eventsAt < eventInterval) return;
    this.eventsAt = now;
    this.queryingEvents = true;
    const answer = await this.api("about", { key });
    this.queryingEvents = false;
    if (key !== this.key) return void (this.eventsAt = -eventInterval);
    if (answer.status !== 404) this.onEvents(key, this.events = answer);
    this.update();
  }

  /** queryBefore queries what happened before dwatch started, once. It retries after an error. */
  async queryBefore(row) {
    const { key } = this;
    if (!row?.initial || this.queryingBefore || this.before && !this.before.error) return;
    if (this.before && performance.now() - this.beforeAt < eventInterval) return;
    Object.assign(this, { queryingBefore: true, beforeAt: performance.now() });
    const answer = await this.api("before", { key });
    this.queryingBefore = false;
    if (key !== this.key) return void this.update(); // another object was opened meanwhile
    this.before = answer;
    this.update();
  }

  /** queryLeadUp queries the changes before a problem, once per problem. It retries after an error. */
  async queryLeadUp(row) {
    const problem = problemStart(this.store, row), request = JSON.stringify([problem, this.store.stream]);
    const retries = problem?.at && this.leadUp?.error && performance.now() - this.leadUpAt >= eventInterval;
    if (request === this.leadUpFor && !retries) return;
    Object.assign(this, { leadUpFor: request, leadUpAt: Infinity }); // Infinity prevents a retry before the answer
    if (!problem) return void (this.leadUp = null);
    if (!problem.at) return void (this.leadUp = { error: "The problem is older than the first observed state: earlier changes are unknown." });
    const answer = await this.api("leadup", problem);
    if (request !== this.leadUpFor) return;
    this.leadUpAt = performance.now();
    if (answer.status !== 404) this.leadUp = answer;
    this.update();
  }

  /** showLeadUp scrolls to the changes before the problem as soon as they are loaded. */
  showLeadUp() {
    this.scrollsToLeadUp = true;
    this.scrollToLeadUp();
  }

  scrollToLeadUp() {
    if (!this.scrollsToLeadUp || this.sections.leadup.section.hidden) return;
    this.scrollsToLeadUp = false;
    this.sections.leadup.section.scrollIntoView({ block: "start" });
  }

  /** missing explains why there is no row. */
  missing() {
    const past = this.store.hello?.past;
    if (!past) return "No longer retained";
    return past.unknown ? "Unknown at this time" : "Did not exist at this time";
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
    if (row.changes) fact("Last change", `${moment(row.changed, now)}, ${ago(now - row.changed)}; ${count(row.changes, "change")} since ${this.store.startText()}`);
    if (resource) for (const i of own(resource)) fact(visible(resource.columns[i].name), cellText(row.cells?.[i], resource.columns[i], row.ended || now));
    const labels = Object.entries(row.labels ?? {});
    if (labels.length) {
      const shown = this.expanded.labels ? labels : labels.slice(0, 6);
      const rest = labels.length - shown.length;
      const more = rest ? this.moreButton("labels", `${rest} more`) : row.labelsMore ? `and ${row.labelsMore} more, in the YAML` : "";
      list.append(h("dt", {}, "Labels"), h("dd", {}, ...shown.map(([k, v]) => h("div", { class: "mono" }, visible(`${k}=${v}`))), more));
    }
    return list;
  }

  /** moreButton returns a button that shows all entries of a list. */
  moreButton(name, text) {
    return h("button", { type: "button", class: "link", onclick: () => { this.expanded[name] = true; this.signatures = {}; this.update(); } }, text);
  }

  conditions(row) {
    const now = row.ended || this.store.now(), begin = Math.min(row.first ?? now, now);
    const initial = this.answer.conditionsBefore ?? [], [from] = windowOf(initial, begin, now);
    const all = spans(this.answer.conditions ?? [], this.answer.history?.items ?? [], from, now, begin, initial);
    if (!all.length) return null;
    if (!this.answer.conditions) return h("p", { class: "note" }, visible(this.answer.yamlNote ?? "Not known.")); // without the content, spans would show changed conditions as gone
    const grid = h("div", { class: "conditions" });
    for (const c of all) {
      const since = c.since ? `${c.since < begin ? "since before dwatch observed it" : "since"}: ${moment(c.since, now)}` : "";
      grid.append(h("span", { title: visible(c.type) }, visible(c.type)), bar(c, from, now),
        h("span", { class: `state ${tone(c.type, c.status)}`, title: since }, visible(c.status ?? "gone"), c.since && c.status ? h("small", {}, age(now - c.since)) : ""));
      const why = [c.reason, c.message].filter(Boolean).join(": ");
      if (why && tone(c.type, c.status) !== "is-current") grid.append(h("span", { class: "why" }, visible(why)));
    }
    grid.append(h("span", { class: "span", "aria-hidden": "true" }, h("span", {}, clock(from)), h("span", {}, row.ended ? clock(now) : "now")));
    if (all.some((c) => c.before)) grid.append(h("span", { class: "why" }, `Thin bars: before ${clock(begin)}, according to lastTransitionTime; dwatch did not observe it.`));
    return grid;
  }

  containers() {
    const all = this.answer.containers ?? [];
    if (!all.length) return null;
    return h("ul", { class: "containers" }, ...all.map((c) => {
      const details = [c.restarts ? count(c.restarts, "restart") : "", ...(c.limits ?? []).map((l) => `limit ${l}`)].filter(Boolean).join(", ");
      const messages = [["", c.message], [`Before: ${c.last}`, c.lastMessage]].filter(([head, text]) => text || (head && c.last))
        .map(([head, text]) => h("p", { class: "what" }, visible([head, text].filter(Boolean).join(": "))));
      return h("li", { class: statusClass(c.look) }, h("span", { class: "dot" }), h("b", {}, visible(c.name)), h("span", { class: "role" }, c.role ?? ""),
        h("span", { class: "state" }, visible(c.state)), h("span", { class: "note" }, visible([details, c.image].filter(Boolean).join(" · "))), ...messages);
    }));
  }

  /** family yields the tree of an object: its owners, the object, and its owned objects, each with a depth. Owned
   * objects that are not ready come first, deleted ones last. */
  *family(row) {
    const owners = [];
    for (let owner = row; (owner = this.store.owner(owner)) && owners.length < depthLimit && !owners.includes(owner);) owners.unshift(owner);
    const top = owners[0] ?? row;
    let depth = 0;
    for (const owner of top.owners ?? []) {
      if (!this.store.find(top, owner.uid)) yield { depth, name: `${owner.kind.toLowerCase()}/${owner.name}` };
    }
    if (top.owners?.length) depth++;
    for (const owner of owners) yield { depth: depth++, row: owner };
    yield { depth, row, self: true };
    yield* this.owned(row, depth + 1, new Set([row]));
  }

  /** owned yields the owned objects of a row, recursively. seen guards against cycles. */
  *owned(row, depth, seen) {
    const rank = (r) => (r.ended ? 2 : ["Failed", "InProgress"].includes(r.status.state) ? 0 : 1);
    for (const child of this.store.children(row).sort((a, b) => rank(a) - rank(b) || (b.first ?? 0) - (a.first ?? 0))) {
      if (seen.has(child) || seen.size > familyLimit) continue;
      seen.add(child);
      yield { depth, row: child };
      if (depth < depthLimit) yield* this.owned(child, depth + 1, seen);
    }
  }

  related(row) {
    const all = [...this.family(row)];
    if (all.length < 2) return null;
    const shown = this.expanded.related ? all.slice(0, 500) : all.slice(0, relatedLimit);
    const list = h("ul", { class: "related" }, ...shown.map((r) => this.relative(r)));
    const rest = all.length - shown.length;
    return rest ? [list, this.expanded.related ? h("p", { class: "note" }, `and ${rest} more`) : this.moreButton("related", `${rest} more`)] : list;
  }

  relative({ depth, row, name, self }) {
    const level = `deep${Math.min(depth, depthLimit)}`;
    if (!row) return h("li", { class: level }, h("span", {}, visible(name)), h("span", { class: "state" }, "not watched"));
    const kind = (this.store.resources.get(row.resource)?.kind ?? row.resource).toLowerCase(), label = visible(`${kind}/${row.name}`);
    const state = h("span", { class: "state", title: visible(row.status.message ?? "") }, row.ended ? "Deleted" : shortState(row.status));
    return h("li", { class: `${level} ${row.ended ? "is-unknown" : statusClass(row.status.state)}` }, h("span", { class: "dot" }),
      self ? h("b", {}, label) : h("button", { type: "button", class: "link", onclick: () => this.onOpen(row.key, 0) }, label), state);
  }

  eventList() {
    if (!this.events) return null;
    if (this.events.error) return h("p", { class: "note" }, visible(this.events.error));
    const all = this.events.items ?? [];
    if (!all.length) return null;
    const shown = this.expanded.events ? all : all.slice(0, eventLimit), now = this.store.now();
    const list = h("ul", { class: "history" }, ...shown.map((e) => h("li", { class: e.warning ? "warning" : "" },
      h("div", { class: "head" }, h("time", { title: moment(e.time, 0) }, ago(now - e.time)),
        h("b", {}, visible(`${e.count > 1 ? `×${e.count} ` : ""}${e.warning ? "Warning " : ""}${e.reason}`)),
        e.about ? h("span", {}, visible(e.about)) : null, h("span", { class: "who" }, visible(e.by ?? ""))),
      h("p", {}, visible(e.message)))));
    const rest = all.length - shown.length;
    return rest ? [list, this.moreButton("events", `${rest} older`)] : list;
  }

  changes() {
    const { items, dropped } = this.answer.history ?? { items: [], dropped: 0 };
    const all = items.filter((m) => m.feed).reverse();
    const chosen = all.findIndex((m) => m.time === this.at);
    const shown = this.expanded.history ? all : all.slice(0, Math.max(historyLimit, chosen + 1));
    setText(this.sections.changes.extra, "");
    const { started } = this.store.hello ?? {}; // unknown if a link opened the object before the first message
    if (!dropped && !all.length) return h("p", { class: "note" }, `None since ${this.store.startText()}${started && !this.store.hello.past ? ` (${moment(started, this.store.now())})` : ""}.`);
    const missing = this.at && chosen < 0 ? [h("li", { class: "selected", "data-time": String(this.at) }, h("p", { class: "note" }, `The change of ${moment(this.at, this.store.now())} is no longer retained.`))] : [];
    const list = h("ul", { class: "history" }, ...missing, ...shown.map((m) => this.changeItem(m)));
    const rest = all.length - shown.length;
    return [list, rest ? this.moreButton("history", `${rest} older`) : null,
      dropped ? h("p", { class: "note" }, `${count(dropped, "older change")} not held any more.`) : null].filter(Boolean);
  }

  changeItem(m) {
    const [glyph, name] = sign(m);
    const writers = [...new Set((m.changes ?? []).map((c) => c.who).filter(Boolean))];
    const description = m.event === "MODIFIED" ? visible(m.text ?? "") : lines({ ...m, changes: [] })[0].text;
    return h("li", { class: m.time === this.at ? "selected" : "", "data-time": String(m.time) },
      h("div", { class: "head" }, h("time", { title: moment(m.time, 0) }, clock(m.time)), h("span", { class: `sign ${name}` }, glyph),
        h("span", {}, description), h("span", { class: "who" }, visible(writers.join(", ")))),
      ...remainingChanges(m).flatMap((c) => [changeLine(c), ...diffLines(c, 20)]).map((line) => {
        const element = h("div", { class: `what${line.diff ? " line" : ""}` }, ...["path", "old", "arrow", "new-value", "words"].map((n) => h("span", { class: n })));
        fillChange(element, line, 400);
        return element;
      }),
      m.more ? h("p", { class: "note" }, `and ${count(m.more, "more change")}`) : null,
      m.times ? h("p", { class: "note" }, `so${repeats(m)}`.replace(", ", " ")) : null);
  }

  /** yaml draws the selected content of the version picker, or the current YAML if content is null. */
  yaml(content) {
    const { text: yaml, cut: yamlCut, diff, more, note } = content ?? { text: this.answer.yaml, cut: this.answer.yamlCut, note: this.answer.yamlNote };
    this.copied = diff?.join("\n") ?? yaml ?? "";
    setText(this.sections.yaml.extra, yaml === undefined ? "" : `${size(yaml.length)}${yamlCut ? ", cut" : ""}`);
    this.copy.hidden = !this.copied;
    if (diff) return [note ? h("p", { class: "note" }, note) : null, diffElement(diff), more ? h("p", { class: "note" }, `and ${count(more, "more line")}`) : null].filter(Boolean);
    if (yaml === undefined) return h("p", { class: "note" }, visible(note));
    const { blocks, rest } = yamlBlocks(yaml, this.expanded.yaml ? Infinity : 600);
    const pre = h("pre", { class: "yaml", tabIndex: 0, role: "region", "aria-label": "The YAML of the object" }, ...blocks);
    return [note ? h("p", { class: "note" }, note) : null, pre, rest ? this.moreButton("yaml", `${count(rest, "more line")}`) : null].filter(Boolean);
  }

  async copyYAML() {
    await navigator.clipboard?.writeText(this.copied);
    setText(this.copy, "Copied");
    setTimeout(() => setText(this.copy, "Copy"), 2000);
  }

  /** scrollToChange scrolls to the selected change as soon as it is loaded. If several changes have the same time,
   * it scrolls to the earliest one, which is the last in the list. */
  scrollToChange() {
    if (!this.scrollTarget) return;
    const element = [...this.sections.changes.body.querySelectorAll(`[data-time="${Number(this.scrollTarget)}"]`)].at(-1);
    if (!element) return;
    this.scrollTarget = 0;
    element.scrollIntoView({ block: "center" });
  }
}

/** bar draws the spans of a condition. The time before dwatch saw the object is a thin bar. */
function bar(condition, from, to) {
  const describe = ([a, b, status]) => `${status} for ${age(b - a)}`, { before } = condition;
  const text = [...(before ? [`${before[2]} since ${moment(before[3], to)}, according to lastTransitionTime; not observed by dwatch`] : []), ...condition.spans.map(describe)].join(", ");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 1000 12");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", visible(`${condition.type}: ${text || "not known"}`));
  const title = svg.appendChild(document.createElementNS(svg.namespaceURI, "title"));
  title.textContent = svg.getAttribute("aria-label");
  for (const [a, b, status, claimedSince] of [...(before ? [before] : []), ...condition.spans]) {
    const rect = document.createElementNS(svg.namespaceURI, "rect");
    const x = (a - from) / (to - from) * 1000;
    rect.setAttribute("x", x);
    rect.setAttribute("width", Math.max(3, (b - from) / (to - from) * 1000 - x));
    rect.setAttribute("y", claimedSince ? 4 : 0);
    rect.setAttribute("height", claimedSince ? 4 : 12);
    rect.setAttribute("class", tone(condition.type, status));
    svg.append(rect);
  }
  return svg;
}
