// What needs a look, above the objects: a line for each root of what is wrong.
import { h, setText } from "./dom.js";
import { age, count, moment, visible } from "./format.js";

/** How many lines there are at first. */
const shownFirst = 4;

export class Problems {
  constructor({ store, panel, now, linked, chosen = () => [], onOpen, onLeadUp }) {
    Object.assign(this, { store, panel, now, linked, chosen, onOpen, onLeadUp, all: false, drawn: "" });
  }

  /** update draws anew what has become another. */
  update() {
    const text = JSON.stringify([this.lines(), this.all]);
    if (text === this.drawn) return;
    this.drawn = text;
    const held = document.activeElement?.closest?.("#problems button")?.dataset.id;
    const [quiet, lines, more] = this.lines();
    this.panel.className = quiet ? "quiet" : "";
    this.panel.replaceChildren(
      ...(quiet ? [h("p", null, quiet)] : lines.map((line) => this.line(line))),
      ...(more ? [h("button", { type: "button", class: "more", "data-id": "more", onclick: () => { this.all = !this.all; this.update(); } }, more)] : []),
    );
    if (held) [...this.panel.querySelectorAll("button")].find((b) => b.dataset.id === held)?.focus();
  }

  /** lines are what is to be said: one quiet line, or lines, and what the last button says. */
  lines() {
    const { store } = this, { items: wrong = [], more = 0, fights = [] } = store.problems ?? {};
    if (!store.problems) return ["", [], ""];
    const chosen = this.chosen(), items = [...wrong, ...fights].filter((p) => !chosen.length || chosen.includes(p.cluster));
    if (!items.length && !more) return [this.nothing(chosen), [], ""];
    const shown = this.all ? items : items.slice(0, items.length > shownFirst + 1 ? shownFirst : shownFirst + 1);
    const rest = items.length - shown.length + more;
    const button = this.all && items.length > shownFirst + 1 ? "Fewer" : rest ? `${rest} more` : "";
    return ["", shown.map((item) => this.words(item)), button];
  }

  /** nothing says that nothing needs a look, as far as that is known. */
  nothing(chosen) {
    const { store } = this, unknown = "What needs a look is not known while not all is connected.";
    const clusters = (store.clusters ?? []).filter((c) => !chosen.length || chosen.includes(c.name));
    const known = clusters.filter((c) => c.state === "live").length;
    if (!this.linked() || store.loading) return unknown;
    if (store.hello?.past?.unknown && !known) return "What needed a look then is not all known.";
    if (known && known < clusters.length) return `Nothing needs a look in ${known} of ${count(clusters.length, "cluster")}; of the others it is not known.`;
    const open = clusters.length ? !known : [...store.targets.values()].some((t) => ["lost", "denied", "starting"].includes(t.state));
    return open ? unknown : "Nothing needs a look.";
  }

  words(p) {
    const { store } = this;
    if (p.text) return this.fight(p);
    const kind = p.resource ? store.kind(p.resource) : p.root.kind.toLowerCase();
    return {
      key: p.key, look: p.over ? "over" : p.failed ? "failed" : "progress",
      cluster: p.cluster ? `${visible(p.cluster)} ` : "", color: p.cluster ? store.color(p.cluster) : null,
      where: store.manyNamespaces && p.namespace ? `${visible(p.namespace)} ` : "",
      what: `${visible(kind)}/${visible(p.root.name)}`,
      why: visible(p.why) + (p.objects > 1 ? ` ×${p.objects}` : ""),
      when: p.over ? `well again for ${age(this.now() - p.over)}` : p.since ? `since ${moment(p.since)}` : `before ${moment(p.first)}`,
      causes: [p.cause, p.named].filter(Boolean).map((c) => ({ key: c.key, at: c.time, text: this.cause(c) })), leadsTo: p.since && !p.over,
    };
  }

  /** fight is that two managers undo what the other one did. */
  fight(p) {
    const { store } = this;
    return {
      key: p.key, look: "fight", cluster: p.cluster ? `${visible(p.cluster)} ` : "", color: p.cluster ? store.color(p.cluster) : null,
      where: store.manyNamespaces && p.namespace ? `${visible(p.namespace)} ` : "", what: `${store.kind(p.resource)}/${visible(p.name)}`,
      why: visible(p.text), when: `since ${moment(p.since)}`, causes: [], leadsTo: false,
    };
  }

  /** cause is who changed what; of what the reason names, with its name. */
  cause({ who, what, resource, name }) {
    const done = name ? `${this.store.kind(resource)}/${name} ${what.replace(/^it /, "")}` : what;
    return [who, done].filter(Boolean).map(visible).join(": ");
  }

  line(l) {
    const open = (key, at, name, ...content) =>
      h("button", { type: "button", class: name, "data-id": `${name} ${l.key}`, onclick: () => this.onOpen(key, at) }, ...content);
    const sign = h("span", { class: "sign", "aria-hidden": "true" });
    setText(sign, { over: "●", failed: "✗", progress: "◌", fight: "!" }[l.look]);
    return h("p", { class: l.look },
      open(l.key, 0, "what", sign, h("em", { class: "cluster", "data-color": l.color }, l.cluster), h("span", { class: "ns" }, l.where), h("b", null, l.what), h("span", { class: "why" }, l.why)),
      h("span", { class: "when" }, l.when),
      l.causes.map((c, i) => open(c.key, c.at, `cause${i ? " also" : ""}`, `${i ? "and" : "after"} ${c.text}`)),
      l.leadsTo ? h("button", { type: "button", class: "leads", "data-id": `leads ${l.key}`, title: "What somebody changed in the ten minutes before it went wrong", onclick: () => this.onLeadUp(l.key) }, "what changed in the 10 min before") : "");
  }
}
