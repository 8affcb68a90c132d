// The problems above the objects, with one line per root cause.
import { h, setText } from "./dom.js";
import { age, count, moment, visible } from "./format.js";

/** The number of lines that are shown at first. One more is shown if it is the only other one. */
const lineLimit = 4;

export class Problems {
  /** isConnected reports whether the page is connected, and selectedClusters returns the clusters of the filter. */
  constructor({ store, panel, now, isConnected, selectedClusters = () => [], onOpen, onLeadUp }) {
    Object.assign(this, { store, panel, now, isConnected, selectedClusters, onOpen, onLeadUp, showAll: false, signature: "" });
  }

  /** update draws the lines if they have changed, and keeps the keyboard focus. */
  update() {
    const signature = JSON.stringify([this.lines(), this.showAll]);
    if (signature === this.signature) return;
    this.signature = signature;
    const focused = document.activeElement?.closest?.("#problems button")?.dataset.id;
    const [text, lines, more] = this.lines();
    this.panel.className = text ? "quiet" : "";
    this.panel.replaceChildren(
      ...(text ? [h("p", null, text)] : lines.map((line) => this.line(line))),
      ...(more ? [h("button", { type: "button", class: "more", "data-id": "more", onclick: () => { this.showAll = !this.showAll; this.update(); } }, more)] : []),
    );
    if (focused) [...this.panel.querySelectorAll("button")].find((b) => b.dataset.id === focused)?.focus();
  }

  /** lines returns [text, lines, label]: a text if there is no problem, or else lines, and the label of the button that
   * shows more or fewer lines. */
  lines() {
    const { store } = this, { items: problems = [], more = 0, fights = [] } = store.problems ?? {};
    if (!store.problems) return ["", [], ""];
    const selected = this.selectedClusters(), items = [...problems, ...fights].filter((p) => !selected.length || selected.includes(p.cluster));
    if (!items.length && !more) return [this.healthText(selected), [], ""];
    const shown = this.showAll ? items : items.slice(0, items.length > lineLimit + 1 ? lineLimit : lineLimit + 1);
    const rest = items.length - shown.length + more;
    const button = this.showAll && items.length > lineLimit + 1 ? "Fewer" : rest ? `${rest} more` : "";
    return ["", shown.map((item) => this.problemLine(item)), button];
  }

  /** healthText reports that there are no problems, or why that is not known. */
  healthText(selected) {
    const { store } = this, unknown = "Problems unknown until all watches are connected.";
    const clusters = (store.clusters ?? []).filter((c) => !selected.length || selected.includes(c.name));
    const known = clusters.filter((c) => c.state === "live").length;
    if (store.problems.stateless) return "The watched resources have no health status.";
    if (!this.isConnected() || store.loading) return unknown;
    if (store.hello?.past?.unknown && !known) return "Problems at this time are unknown.";
    if (known && known < clusters.length) return `No problems in ${known} of ${count(clusters.length, "cluster")}; unknown for the others.`;
    const isIncomplete = clusters.length ? !known : [...store.targets.values()].some((t) => ["lost", "denied", "starting"].includes(t.state));
    return isIncomplete ? unknown : "No problems.";
  }

  /** problemLine returns the data of the line of a problem. */
  problemLine(p) {
    const { store } = this;
    if (p.text) return this.fightLine(p);
    const kind = p.resource ? store.kind(p.resource) : p.root.kind.toLowerCase();
    return {
      key: p.key, look: p.over ? "over" : p.failed ? "failed" : "progress",
      cluster: p.cluster ? `${visible(p.cluster)} ` : "", color: p.cluster ? store.color(p.cluster) : null,
      where: store.manyNamespaces && p.namespace ? `${visible(p.namespace)} ` : "",
      what: `${visible(kind)}/${visible(p.root.name)}`,
      why: visible(p.why) + (p.objects > 1 ? ` ×${p.objects}` : ""),
      when: p.over ? `recovered ${age(this.now() - p.over)} ago` : p.since ? `since ${moment(p.since)}` : `before ${moment(p.first)}`,
      causes: [p.cause, p.named].filter(Boolean).map((c) => ({ key: c.key, at: c.time, text: this.causeText(c) })), hasLeadUp: p.since && !p.over,
    };
  }

  /** fightLine returns the data of the line of a fight: two managers that undo each other's changes. */
  fightLine(p) {
    const { store } = this;
    return {
      key: p.key, look: "fight", cluster: p.cluster ? `${visible(p.cluster)} ` : "", color: p.cluster ? store.color(p.cluster) : null,
      where: store.manyNamespaces && p.namespace ? `${visible(p.namespace)} ` : "", what: `${store.kind(p.resource)}/${visible(p.name)}`,
      why: visible(p.text), when: `since ${moment(p.since)}`, causes: [], hasLeadUp: false,
    };
  }

  /** causeText describes who changed what. It names the object if another object than that of the problem was changed. */
  causeText({ who, what, resource, name }) {
    const change = name ? `${this.store.kind(resource)}/${name} ${what.replace(/^it /, "")}` : what;
    return [who, change].filter(Boolean).map(visible).join(": ");
  }

  /** line draws a line. */
  line(l) {
    const openButton = (key, at, name, ...content) =>
      h("button", { type: "button", class: name, "data-id": `${name} ${l.key}`, onclick: () => this.onOpen(key, at) }, ...content);
    const sign = h("span", { class: "sign", "aria-hidden": "true" });
    setText(sign, { over: "●", failed: "✗", progress: "◌", fight: "!" }[l.look]);
    return h("p", { class: l.look },
      openButton(l.key, 0, "what", sign, h("em", { class: "cluster", "data-color": l.color }, l.cluster), h("span", { class: "ns" }, l.where), h("b", null, l.what), h("span", { class: "why" }, l.why)),
      h("span", { class: "when" }, l.when),
      l.causes.map((c, i) => openButton(c.key, c.at, `cause${i ? " also" : ""}`, `${i ? "and" : "after"} ${c.text}`)),
      l.hasLeadUp ? h("button", { type: "button", class: "leads", "data-id": `leads ${l.key}`, title: "What somebody changed in the ten minutes before it went wrong", onclick: () => this.onLeadUp(l.key) }, "what changed in the 10 min before") : "");
  }
}
