// How each of several clusters is: a line below the head of the page. A press shows only what is there.
import { h, setAttribute, setText } from "./dom.js";
import { clock, visible } from "./format.js";
import { toggle } from "./url.js";

/** How many are in the line at most: first those that are not connected. */
const mostShown = 12;

const signs = { live: "●", starting: "◌" };
const words = { starting: "connecting", lost: "not connected", denied: "denied", unknown: "not known" };
const rank = (c) => ({ live: 2, starting: 1 }[c.state] ?? 0);
/** well is what is said of those that are live; of a recording that is what is known. */
const well = (store) => (store.hello?.past ? "known" : "connected");

/** said is a cluster in words. */
export function said(c) {
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
    const shown = all.length > mostShown ? [...all].sort((a, b) => rank(a) - rank(b)).slice(0, mostShown) : all;
    const elements = shown.map((c) => this.show(c));
    const rest = all.slice().filter((c) => !shown.includes(c)), live = rest.every((c) => c.state === "live");
    setText(this.more, rest.length ? `and ${rest.length} more${live ? `, ${well(this.store)}` : ""}` : "");
    const wanted = [...elements, this.more];
    if (wanted.length !== this.panel.children.length || wanted.some((element, i) => this.panel.children[i] !== element)) this.panel.replaceChildren(...wanted);
  }

  show(c) {
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
    setText(how, said(c));
    setAttribute(button, "title", visible([c.name, said(c) || well(this.store), c.text].filter(Boolean).join(": ")));
    setAttribute(button, "aria-pressed", this.state().cluster.includes(c.name));
    return button;
  }
}
