// The rows of the objects, as a table or beside their timeline. Only those to be seen
// exist; a row that comes into view is written into one that went out of it.
import { h, setText, setAttribute } from "./dom.js";
import { age, ago, clock, count, shortState, visible } from "./format.js";
import { Rows } from "./rows.js";
import { Columns, cellText, clusterWidth, isEvents, isImages, isNumber } from "./columns.js";
import { statusClass } from "./store.js";

/** How long what just changed is highlighted. */
const freshFor = 3000;

export class Table {
  constructor({ store, viewport, heading, onSelect, onFold }) {
    Object.assign(this, { store, viewport, heading, onSelect, onFold });
    this.columns = new Columns();
    this.layouts = new Map();
    this.items = [];
    this.selected = "";
    this.mode = "table";
    this.rows = new Rows(viewport, viewport.firstElementChild, {
      height: 30,
      create: () => this.create(),
      render: (element, index) => this.render(element, this.items[index], index),
    });
    this.rows.onDrawn = (first, last) => { this.drawHeading(first); this.onDrawn?.(first, last); };
    viewport.addEventListener("click", (e) => this.click(e));
    new ResizeObserver(() => { this.measure(); this.rows.draw(); }).observe(viewport);
  }

  create() {
    return h("div", { role: "row", class: "row" });
  }

  click(event) {
    const key = event.target.closest(".row")?.key;
    if (key && event.target.closest(".fold")) this.onFold(key);
    else if (key) this.onSelect(key);
  }

  /** show makes these items the rows. */
  show(items, mode) {
    this.items = items;
    this.mode = mode;
    if (!this.room) this.measure();
    this.rows.setCount(items.length);
    setAttribute(this.viewport, "aria-rowcount", items.length);
    setAttribute(this.viewport, "role", mode === "timeline" ? "treegrid" : "grid"); // its rows may be folded
    this.rows.draw();
    this.pointAtSelected();
  }

  /** measure finds out the room there is; layouts are made anew where it differs. */
  measure() {
    const style = getComputedStyle(this.viewport);
    this.rows.setHeight(parseFloat(style.getPropertyValue("--row")) || 30);
    const room = (this.viewport.clientWidth - 2 * (parseFloat(style.getPropertyValue("--pad")) || 14)) / zeroWidth(style);
    this.layouts.clear();
    this.room = room;
  }

  layout(resource) {
    if (this.columns.version !== this.layoutsOf) {
      this.layouts.clear();
      this.layoutsOf = this.columns.version;
    }
    let layout = this.layouts.get(resource.id);
    if (!layout) this.layouts.set(resource.id, layout = this.columns.layout(resource, this.room));
    return layout;
  }

  /** folds reports whether something below an object is folded, or was. */
  folds(key) {
    const item = this.items[this.index(key)];
    return Boolean(item?.quiet || item?.open);
  }

  index(key) { return this.items.findIndex((item) => item.key === key); }

  select(key, scroll) {
    this.selected = key;
    if (scroll && key) {
      const index = this.index(key);
      if (index >= 0) this.rows.scrollTo(index, this.mode === "table" ? this.rows.height : 0);
    }
    this.rows.draw();
    this.pointAtSelected();
  }

  /** pointAtSelected tells a screen reader which row is meant: focus stays on the grid. */
  pointAtSelected() {
    const element = this.selected && this.rows.pool.get(this.index(this.selected));
    setAttribute(this.viewport, "aria-activedescendant", element ? element.id : null);
  }

  /** step is the key of the object so many rows on. */
  step(by) {
    const keys = this.items.length;
    let index = this.index(this.selected);
    if (index < 0) index = by > 0 ? -1 : keys;
    index = Math.max(0, Math.min(keys - 1, index + by));
    // The head of a section is passed over; at the very top there is nothing before it.
    const isObject = (item) => Boolean(item.key);
    const found = by < 0 && this.items.slice(0, index + 1).findLast(isObject);
    return (found || this.items.slice(index).find(isObject))?.key ?? this.selected;
  }

  render(element, item, index) {
    if (!item) return;
    element.id = `row-${index}`;
    setAttribute(element, "aria-rowindex", index + 1);
    const row = item.key && this.store.objects.get(item.key);
    if (item.resource) this.renderSection(element, item);
    else if (row) this.renderObject(element, row, item);
  }

  renderSection(element, item) {
    const resource = this.resource(item.resource);
    const layout = this.layout(resource);
    element.key = "";
    shape(element, `section ${layout.shown}`, () => sectionCells(layout));
    setClass(element, "row section");
    setAttribute(element, "aria-selected", null);
    setAttribute(element, "aria-expanded", null);
    fillSection(element, resource, layout, item, this.store.staleSince(resource.id));
  }

  renderObject(element, row, item) {
    const resource = this.resource(row.resource), inTable = this.mode === "table";
    const layout = inTable ? this.layout(resource) : timelineLayout;
    element.key = row.key;
    shape(element, `${this.mode} ${layout.shown}`, () => objectCells(layout, inTable));
    if (element.style.gridTemplateColumns !== layout.grid) element.style.gridTemplateColumns = layout.grid;
    const selected = row.key === this.selected;
    element.plainClass = `row object ${statusClass(row.status.state)}${selected ? " selected" : ""}${row.ended ? " ended" : ""}${this.store.staleSince(row.resource, row.namespace, row.cluster) ? " stale" : ""}`;
    setAttribute(element, "aria-selected", selected);
    setAttribute(element, "aria-expanded", item.quiet ? "false" : item.open ? "true" : null);
    this.fillTitle(element.firstChild, row, item, inTable);
    if (inTable) this.fillCells(element, row, resource, layout);
    else setText(element.children[1], describe(row, this.store.now(), this.store.eventsOf(row).filter((e) => e.status.state === "Warning").length));
    this.freshen(element, row, layout, inTable);
  }

  fillTitle(title, row, item, inTable) {
    const [tree, , cluster, kind, name, namespace, fold] = title.children;
    this.fillCluster(cluster, row);
    const indent = inTable ? "0" : `${(item.depth ?? 0) * 14}px`;
    if (tree.style.width !== indent) tree.style.width = indent;
    setText(kind, inTable ? "" : this.resource(row.resource).kind.toLowerCase());
    const whole = visible(row.name), stem = whole.length > 16 ? whole.length - 6 : whole.length;
    setText(name.firstChild, whole.slice(0, stem));
    setText(name.lastChild, whole.slice(stem));
    // What stands below its owner is in the same namespace.
    setText(namespace, this.manyNamespaces && !item.depth ? visible(row.namespace) : "");
    setText(fold, item.quiet ? `+ ${item.quiet} quiet` : item.open ? "− quiet" : "");
    setAttribute(title, "title", whole.length > 16 ? whole : null);
  }

  /** fillCluster shows where it is, of several clusters: as wide in all rows, as a column is. */
  fillCluster(element, row) {
    const { clusters } = this.store;
    setText(element, clusters ? visible(row.cluster) : "");
    if (!clusters) return;
    setAttribute(element, "data-color", this.store.color(row.cluster));
    setAttribute(element, "title", visible(row.cluster));
    const width = `${Math.max(4, ...clusters.map((c) => clusterWidth(c.name)))}ch`;
    if (element.style.width !== width) element.style.width = width;
  }

  fillCells(element, row, resource, layout) {
    const cells = element.children, now = this.store.now(), until = row.ended || now;
    layout.shown.forEach((column, i) => {
      const text = cellText(row.cells?.[column], resource.columns[column], until);
      if (isImages(resource.columns[column])) fillEnds(cells[i + 1], text, layout.widths[i]);
      else setText(cells[i + 1], text);
      setAttribute(cells[i + 1], "title", text.length > layout.widths[i] ? text : null);
    });
    const [state, old, last] = [...cells].slice(-3);
    setText(state, row.ended ? "Deleted" : shortState(row.status));
    setAttribute(state, "title", row.status.message ?? null);
    setText(old, row.created ? age(until - row.created) : "");
    const changed = row.changed && row.changes ? ago(now - row.changed) : "";
    setText(last, changed);
    const where = [row.cluster, this.manyNamespaces && row.namespace].filter(Boolean).map(visible).join(" · ");
    // On a phone, where there are no cells:
    setAttribute(last, "data-where", where ? `${where}${changed && " · "}` : null);
    const why = row.ended ? "" : isEvents(resource) ? message(row, resource.columns) : reason(row, resource.columns);
    setAttribute(last, "data-why", why ? `${where || changed ? " · " : ""}${why}` : null);
  }

  /** freshen highlights what just changed: it begins when it changed, not when the row
   * comes into view. */
  freshen(element, row, layout, inTable) {
    const since = performance.now() - (row.fresh ?? -freshFor);
    const fresh = since < freshFor;
    if (fresh && element.freshSince !== row.fresh) {
      element.freshSince = row.fresh;
      element.style.setProperty("--since", `${-since}ms`);
      // Another name begins the animation again; there are two of the same.
      element.freshName = element.freshName === "fresh" ? "fresh again" : "fresh";
    }
    const name = fresh ? `${element.plainClass} ${element.freshName}` : element.plainClass;
    if (element.className !== name) element.className = name;
    if (!inTable) return;
    const columns = this.resource(row.resource).columns;
    layout.shown.forEach((column, i) => {
      const isNew = fresh && row.newCells?.includes(column);
      setClass(element.children[i + 1], `cell${isNumber(columns[column]) ? " num" : ""}${isImages(columns[column]) ? " ends" : ""}${isNew ? " new" : ""}`);
    });
  }

  /** drawHeading shows the section that the first row belongs to, on top of the rows. */
  drawHeading(first) {
    let index = Math.min(first, this.items.length - 1);
    while (index > 0 && !this.items[index].resource) index--;
    const item = this.items[index];
    if (this.mode !== "table" || !item?.resource) return void this.heading.replaceChildren();
    const resource = this.resource(item.resource), layout = this.layout(resource);
    let element = this.heading.firstChild;
    if (!element) this.heading.append(element = h("div", { class: "row section" }));
    shape(element, `section ${layout.shown}`, () => sectionCells(layout));
    this.heading.style.right = `${this.viewport.offsetWidth - this.viewport.clientWidth}px`;
    fillSection(element, resource, layout, item, this.store.staleSince(resource.id));
  }

  resource(id) {
    return this.store.resources.get(id) ?? { id, resource: id, kind: id, columns: [] };
  }
}

/** zeroWidth is a "ch" of the style sheet in pixels. */
function zeroWidth(style) {
  const g = zeroWidth.context ??= document.createElement("canvas").getContext("2d");
  g.font = `${style.fontSize} ${style.fontFamily}`;
  return g.measureText("0").width || 8;
}

/** reason is why an object is not as it should be: what the server calls its status, or
 * the message of its state. */
export function reason(row, columns) {
  if (["Current", "Unknown", "Normal"].includes(row.status.state)) return "";
  const cell = row.cells?.[columns.findIndex((c) => c.name === "Status")];
  return visible(typeof cell === "string" && cell ? cell : row.status.message ?? "");
}

/** message is what an Event says, as "Reason: Message". */
function message(row, columns) {
  const cell = (name) => row.cells?.[columns.findIndex((c) => c.name === name)];
  return [cell("Reason"), cell("Message")].filter(Boolean).map(visible).join(": ");
}

/** fillEnds writes what is told apart by its end, which is not cut: registry.example/…/checkout:5.2. */
function fillEnds(cell, text, width) {
  if (cell.children.length !== 2) cell.replaceChildren(h("span", { class: "stem" }), h("span", { class: "tail" }));
  const short = text.replace(/@sha256:([0-9a-f]{8})[0-9a-f]{56}/g, "@$1");
  const from = Math.max(short.lastIndexOf("/", short.length - 2) + 1, short.length - Math.floor(width) + 2, 0);
  setText(cell.firstChild, short.slice(0, from));
  setText(cell.lastChild, short.slice(from));
}

const timelineLayout = { shown: [], grid: "minmax(0, var(--title))" };

/** describe is the bar of an object in words. */
function describe(row, now, warnings) {
  const until = row.ended || now;
  const since = row.segments.at(-1)?.[0] ?? row.first;
  const state = row.ended ? `deleted, was ${row.status.state}` : row.status.state;
  return `${state} for ${age(until - since)}, ${row.changes ?? 0} changes${warnings ? `, ${count(warnings, "Warning")}` : ""}`;
}

/** shape makes the children of a row anew where it is of another kind than before. */
function shape(element, name, children) {
  if (element.shape === name) return;
  element.shape = name;
  element.freshSince = 0;
  element.replaceChildren(...children());
}

function setClass(element, name) {
  if (element.className !== name) element.className = name;
}

function sectionCells(layout) {
  const cell = (name) => h("span", { role: "columnheader", class: name });
  const title = h("span", { role: "columnheader", class: "title" }, h("b"), h("i"), h("span"), h("em"));
  return [title, ...layout.shown.map(() => cell("cell")), cell("state"), cell("when age"), cell("when last")];
}

function fillSection(element, resource, layout, item, asOf) {
  if (element.style.gridTemplateColumns !== layout.grid) element.style.gridTemplateColumns = layout.grid;
  const [name, group, count, stale] = element.firstChild.children;
  setText(stale, asOf ? `as of ${clock(asOf)}` : "");
  setText(name, resource.resource);
  setText(group, resource.group ?? "");
  setText(count, item.count.toLocaleString("en"));
  layout.shown.forEach((column, i) => {
    const cell = element.children[i + 1];
    setText(cell, visible(resource.columns[column].name));
    setClass(cell, `cell${isNumber(resource.columns[column]) ? " num" : ""}`);
  });
  const [state, old, last] = [...element.children].slice(-3);
  setText(state, "State"); // many a server has a column Status
  setText(old, "Age");
  setText(last, "Changed");
}

function objectCells(layout, inTable) {
  const cell = (name) => h("span", { role: "gridcell", class: name });
  const title = h("span", { role: "gridcell", class: "title" },
    h("span", { class: "tree" }), h("span", { class: "dot" }), h("em", { class: "cluster" }), h("span", { class: "kind" }),
    h("b", {}, h("span", { class: "stem" }), h("span", { class: "tail" })), h("i"), h("span", { class: "fold" }));
  if (!inTable) return [title, cell("unseen")];
  return [title, ...layout.shown.map(() => cell("cell")), cell("state"), cell("when age"), cell("when last")];
}
