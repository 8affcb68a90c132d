// The line with the state of each cluster. A click on a cluster shows only its objects.
import { h, setAttribute, setText } from "./dom.js";
import { clock, visible } from "./format.js";
import { toggle } from "./url.js";

/** The number of clusters that are shown. Clusters that are not connected come first. */
const clusterLimit = 12;

const signs = { live: "●", starting: "◌" };
const words = { starting: "connecting", lost: "not connected", denied: "denied", unknown: "not known" };
const rank = (c) => ({ live: 2, starting: 1 }[c.state] ?? 0);
/** liveWord describes a cluster in state live. In a recording, live means that its state is known. */
const liveWord = (store) => (store.hello?.past ? "known" : "connected");

/** describe returns the state of a cluster as text, or "" if it is live. */
export function describe(c) {
  if (c.state === "live") return "";
  return c.state === "lost" && c.since ? `lost since ${clock(c.since)}` : words[c.state] ?? c.state;
}

export class Clusters {
  constructor({ store, panel, state, onChange }) {
    Object.assign(this, { store, panel, state, onChange, buttons: new Map() });
    this.more = h("span", { class: "note" });
  }

  update() {
    const all = this.store.clusters;
    this.panel.hidden = !all;
    if (!all) return;
    const shown = all.length > clusterLimit ? [...all].sort((a, b) => rank(a) - rank(b)).slice(0, clusterLimit) : all;
    const elements = shown.map((c) => this.buttonOf(c));
    const rest = all.slice().filter((c) => !shown.includes(c)), live = rest.every((c) => c.state === "live");
    setText(this.more, rest.length ? `and ${rest.length} more${live ? `, ${liveWord(this.store)}` : ""}` : "");
    const wanted = [...elements, this.more];
    if (wanted.length !== this.panel.children.length || wanted.some((element, i) => this.panel.children[i] !== element)) this.panel.replaceChildren(...wanted);
  }

  /** buttonOf returns the updated button of a cluster. */
  buttonOf(c) {
    let button = this.buttons.get(c.name);
    if (!button) {
      button = h("button", { type: "button", onclick: () => this.onChange({ cluster: toggle(this.state().cluster, c.name) }) },
        h("span", { class: "sign", "aria-hidden": "true" }), h("em", { class: "cluster" }, visible(c.name)), h("span", { class: "how" }));
      this.buttons.set(c.name, button);
    }
    const [sign, name, how] = button.children;
    button.className = `is-${c.state}`;
    setText(sign, signs[c.state] ?? "✗");
    setAttribute(name, "data-color", c.color);
    setText(how, describe(c));
    setAttribute(button, "title", visible([c.name, describe(c) || liveWord(this.store), c.text].filter(Boolean).join(": ")));
    setAttribute(button, "aria-pressed", this.state().cluster.includes(c.name));
    return button;
  }
}
