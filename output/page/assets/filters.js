// The panel with filters: toggle buttons for clusters, resources, namespaces and kinds of changes, with counts.
import { h, setText, setAttribute } from "./dom.js";
import { visible } from "./format.js";
import { counts } from "./select.js";
import { toggle, defaults } from "./url.js";

/** Kinds of changes: value in the URL, label. */
const changeKinds = [["added", "+ added"], ["modified", "~ changed"], ["deleted", "− deleted"], ["watch", "! the watch"]];
/** The number of buttons per group. */
const nameLimit = 200;

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
    this.notReady = this.button(group("Show"), "notready", "Not ready only", () => ({ notready: !this.state().notready }));
    this.clusters = group("Clusters");
    this.resources = group("Resources");
    this.namespaces = group("Namespaces");
    const changes = group("Changes");
    for (const [name, label] of changeKinds) {
      this.button(changes, `change ${name}`, label, () => ({ change: toggle(this.state().change, name) }));
    }
    this.clear = h("button", { type: "button", class: "clear", hidden: true, onclick: () => this.onChange(cleared) }, "Clear all filters");
    this.panel.append(this.clear);
  }

  /** button adds a toggle button. nextState returns the part of the state that a click changes. */
  button(parent, id, label, nextState) {
    const element = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.onChange(nextState()) },
      h("span", { class: "name", title: label }, label), h("span", { class: "count bad" }), h("span", { class: "count busy" }), h("span", { class: "count" }));
    this.buttons.set(id, element);
    parent.append(element);
    return element;
  }

  /** update refreshes all counts and buttons. It returns the number of namespaces. */
  update() {
    const state = this.state(), all = counts(this.store);
    this.updateGroup(this.clusters, "cluster", all.clusters);
    this.clusters.previousSibling.hidden = this.clusters.hidden = !this.store.clusters;
    this.updateGroup(this.resources, "kind", all.resources);
    this.updateGroup(this.namespaces, "ns", all.namespaces);
    setText(this.notReady.lastChild, all.notReady.toLocaleString("en"));
    this.setPressed("notready", state.notready);
    for (const [name] of changeKinds) this.setPressed(`change ${name}`, state.change.includes(name));
    this.clear.hidden = !Object.keys(cleared).some((name) => String(state[name]) !== String(defaults[name]));
    this.namespaces.previousSibling.hidden = this.namespaces.hidden = all.namespaces.size < 2 && !state.ns.length;
    return all.namespaces.size;
  }

  /** updateGroup shows a button for each name. Buttons keep their order when counts change. */
  updateGroup(parent, parameter, counts) {
    const chosen = this.state()[parameter];
    for (const name of chosen) if (!counts.has(name)) counts.set(name, { all: 0, failed: 0, busy: 0 });
    const names = [...counts.keys()].filter((name, i) => i < nameLimit || chosen.includes(name));
    const rest = counts.size - names.length, note = parent.nextSibling;
    setText(note, rest ? `and ${rest.toLocaleString("en")} more: the search finds them, too` : "");
    note.hidden = !rest;
    for (const name of names) {
      const id = `${parameter} ${name}`;
      if (!this.buttons.has(id)) this.button(parent, id, visible(name), () => ({ [parameter]: toggle(this.state()[parameter], name) }));
      this.setCounts(id, counts.get(name), chosen.includes(name));
    }
    for (const [id, element] of this.buttons) {
      if (id.startsWith(`${parameter} `) && !counts.has(id.slice(parameter.length + 1))) {
        element.remove();
        this.buttons.delete(id);
      }
    }
    this.arrange(parent, parameter, names);
  }

  /** arrange puts the buttons into the order of names. */
  arrange(parent, parameter, names) {
    const wanted = names.map((name) => this.buttons.get(`${parameter} ${name}`));
    if (wanted.some((element, i) => parent.children[i] !== element)) parent.append(...wanted);
  }

  setCounts(id, count, pressed) {
    const [, failed, busy, all] = this.buttons.get(id).children;
    setText(failed, count.failed ? `${count.failed.toLocaleString("en")} failed` : "");
    setText(busy, count.busy ? `${count.busy.toLocaleString("en")}` : "");
    setAttribute(busy, "title", count.busy ? "not ready" : null);
    setText(all, count.all.toLocaleString("en"));
    this.setPressed(id, pressed);
  }

  setPressed(id, pressed) { setAttribute(this.buttons.get(id), "aria-pressed", pressed); }
}

/** cleared is the part of the state that removes all filters. */
export const cleared = { q: "", where: "", cluster: [], kind: [], ns: [], change: [], notready: false };
