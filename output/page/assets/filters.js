// What is on the left: resources and namespaces with their counts, and what else narrows
// what is shown. Each is a button that is pressed or not.
import { h, setText, setAttribute } from "./dom.js";
import { visible } from "./format.js";
import { counts } from "./select.js";
import { toggle, defaults } from "./url.js";

const changes = [["added", "+ added"], ["modified", "~ changed"], ["deleted", "− deleted"], ["watch", "! the watch"]];
/** How many resources, and how many namespaces, are in the list. */
const mostNames = 200;

export class Filters {
  constructor({ store, panel, state, onChange }) {
    Object.assign(this, { store, panel, state, onChange });
    this.buttons = new Map();
    this.build();
  }

  build() {
    const group = (title) => {
      const list = h("div", { role: "group", "aria-label": title });
      this.panel.append(h("h2", {}, title), list, h("p", { class: "note", hidden: true }));
      return list;
    };
    const narrowed = group("Show");
    this.notReady = this.button(narrowed, "notready", "Not ready only", () => ({ notready: !this.state().notready }));
    this.clusters = group("Clusters");
    this.resources = group("Resources");
    this.namespaces = group("Namespaces");
    const happened = group("Changes");
    for (const [name, label] of changes) {
      this.button(happened, `change ${name}`, label, () => ({ change: toggle(this.state().change, name) }));
    }
    this.clear = h("button", { type: "button", class: "clear", hidden: true, onclick: () => this.onChange(cleared) }, "Clear all filters");
    this.panel.append(this.clear);
  }

  button(parent, id, label, next) {
    const element = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.onChange(next()) },
      h("span", { class: "name", title: label }, label), h("span", { class: "count bad" }), h("span", { class: "count busy" }), h("span", { class: "count" }));
    this.buttons.set(id, element);
    parent.append(element);
    return element;
  }

  /** update counts anew. It returns how many namespaces there are. */
  update() {
    const state = this.state(), all = counts(this.store);
    this.list(this.clusters, "cluster", all.clusters);
    this.clusters.previousSibling.hidden = this.clusters.hidden = !this.store.clusters;
    this.list(this.resources, "kind", all.resources);
    this.list(this.namespaces, "ns", all.namespaces);
    setText(this.notReady.lastChild, all.notReady.toLocaleString("en"));
    this.press("notready", state.notready);
    for (const [name] of changes) this.press(`change ${name}`, state.change.includes(name));
    this.clear.hidden = !Object.keys(cleared).some((name) => String(state[name]) !== String(defaults[name]));
    this.namespaces.previousSibling.hidden = this.namespaces.hidden = all.namespaces.size < 2 && !state.ns.length;
    return all.namespaces.size;
  }

  /** list is a button for each name. They stay where they are while their counts change. */
  list(parent, parameter, counts) {
    const chosen = this.state()[parameter];
    for (const name of chosen) if (!counts.has(name)) counts.set(name, { all: 0, failed: 0, busy: 0 });
    const names = [...counts.keys()].filter((name, i) => i < mostNames || chosen.includes(name));
    const rest = counts.size - names.length, note = parent.nextSibling;
    setText(note, rest ? `and ${rest.toLocaleString("en")} more: the search finds them, too` : "");
    note.hidden = !rest;
    for (const name of names) {
      const id = `${parameter} ${name}`;
      if (!this.buttons.has(id)) this.button(parent, id, visible(name), () => ({ [parameter]: toggle(this.state()[parameter], name) }));
      this.write(id, counts.get(name), chosen.includes(name));
    }
    for (const [id, element] of this.buttons) {
      if (id.startsWith(`${parameter} `) && !counts.has(id.slice(parameter.length + 1))) {
        element.remove();
        this.buttons.delete(id);
      }
    }
    this.arrange(parent, parameter, names);
  }

  arrange(parent, parameter, names) {
    const wanted = names.map((name) => this.buttons.get(`${parameter} ${name}`));
    if (wanted.some((element, i) => parent.children[i] !== element)) parent.append(...wanted);
  }

  write(id, count, pressed) {
    const [, failed, busy, all] = this.buttons.get(id).children;
    setText(failed, count.failed ? `${count.failed.toLocaleString("en")} failed` : "");
    setText(busy, count.busy ? `${count.busy.toLocaleString("en")}` : "");
    setAttribute(busy, "title", count.busy ? "not ready" : null);
    setText(all, count.all.toLocaleString("en"));
    this.press(id, pressed);
  }

  press(id, pressed) { setAttribute(this.buttons.get(id), "aria-pressed", pressed); }
}

/** cleared is the state without filters. */
export const cleared = { q: "", where: "", cluster: [], kind: [], ns: [], change: [], notready: false };
