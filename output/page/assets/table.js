// The rows of objects, as a table or next to the timeline. Only visible rows have elements, which are reused.
import { h, setText, setAttribute } from "./dom.js";
import { age, ago, clock, count, shortState, visible } from "./format.js";
import { Rows } from "./rows.js";
import { Columns, cellText, clusterWidth, isEvents, isImages, isNumber } from "./columns.js";
import { statusClass } from "./store.js";

/** How long a changed row is highlighted, in ms. */
const highlightFor = 3000;

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

  /** show sets the items. mode is "table" or "timeline". */
  show(items, mode) {
    this.items = items;
    this.mode = mode;
    if (!this.width) this.measure();
    this.rows.setCount(items.length);
    setAttribute(this.viewport, "aria-rowcount", items.length);
    setAttribute(this.viewport, "role", mode === "timeline" ? "treegrid" : "grid"); // timeline rows can be folded
    this.rows.draw();
    this.updateActiveDescendant();
  }

  /** measure measures the available width in characters, and discards all layouts. */
  measure() {
    const style = getComputedStyle(this.viewport);
    this.rows.setHeight(parseFloat(style.getPropertyValue("--row")) || 30);
    this.width = (this.viewport.clientWidth - 2 * (parseFloat(style.getPropertyValue("--pad")) || 14)) / zeroWidth(style);
    this.layouts.clear();
  }

  layout(resource) {
    if (this.columns.version !== this.layoutVersion) {
      this.layouts.clear();
      this.layoutVersion = this.columns.version;
    }
    let layout = this.layouts.get(resource.id);
    if (!layout) this.layouts.set(resource.id, layout = this.columns.layout(resource, this.width));
    return layout;
  }

  /** isFoldable reports whether owned objects of an object are folded, or were unfolded. */
  isFoldable(key) {
    const item = this.items[this.index(key)];
    return Boolean(item?.quiet || item?.open);
  }

  index(key) { return this.items.findIndex((item) => item.key === key); }

  /** select selects an object. scroll scrolls to it. */
  select(key, scroll) {
    this.selected = key;
    if (scroll && key) {
      const index = this.index(key);
      if (index >= 0) this.rows.scrollTo(index, this.mode === "table" ? this.rows.height : 0);
    }
    this.rows.draw();
    this.updateActiveDescendant();
  }

  /** updateActiveDescendant tells screen readers which row is selected, since the focus stays on the grid. */
  updateActiveDescendant() {
    const element = this.selected && this.rows.pool.get(this.index(this.selected));
    setAttribute(this.viewport, "aria-activedescendant", element ? element.id : null);
  }

  /** step returns the key of the object that is a number of rows after the selected one. It skips sections. */
  step(by) {
    const { length } = this.items;
    let index = this.index(this.selected);
    if (index < 0) index = by > 0 ? -1 : length;
    index = Math.max(0, Math.min(length - 1, index + by));
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
    element.baseClass = `row object ${statusClass(row.status.state)}${selected ? " selected" : ""}${row.ended ? " ended" : ""}${this.store.staleSince(row.resource, row.namespace, row.cluster) ? " stale" : ""}`;
    setAttribute(element, "aria-selected", selected);
    setAttribute(element, "aria-expanded", item.quiet ? "false" : item.open ? "true" : null);
    this.fillTitle(element.firstChild, row, item, inTable);
    if (inTable) this.fillCells(element, row, resource, layout);
    else setText(element.children[1], barText(row, this.store.now(), this.store.eventsOf(row).filter((e) => e.status.state === "Warning").length));
    this.highlight(element, row, layout, inTable);
  }

  fillTitle(title, row, item, inTable) {
    const [tree, , cluster, kind, name, namespace, fold] = title.children;
    this.fillCluster(cluster, row);
    const indent = inTable ? "0" : `${(item.depth ?? 0) * 14}px`;
    if (tree.style.width !== indent) tree.style.width = indent;
    setText(kind, inTable ? "" : this.resource(row.resource).kind.toLowerCase());
    const text = visible(row.name), stem = text.length > 16 ? text.length - 6 : text.length;
    setText(name.firstChild, text.slice(0, stem));
    setText(name.lastChild, text.slice(stem));
    // An object below its owner is in the same namespace.
    setText(namespace, this.manyNamespaces && !item.depth ? visible(row.namespace) : "");
    setText(fold, item.quiet ? `+ ${item.quiet} quiet` : item.open ? "− quiet" : "");
    setAttribute(title, "title", text.length > 16 ? text : null);
  }

  /** fillCluster shows the cluster, if there are several, with the same width in all rows. */
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
      if (isImages(resource.columns[column])) fillImages(cells[i + 1], text, layout.widths[i]);
      else setText(cells[i + 1], text);
      setAttribute(cells[i + 1], "title", text.length > layout.widths[i] ? text : null);
    });
    const [state, ageCell, last] = [...cells].slice(-3);
    setText(state, row.ended ? "Deleted" : shortState(row.status));
    setAttribute(state, "title", row.status.message ?? null);
    setText(ageCell, row.created ? age(until - row.created) : "");
    const changed = row.changed && row.changes ? ago(now - row.changed) : "";
    setText(last, changed);
    const where = [row.cluster, this.manyNamespaces && row.namespace].filter(Boolean).map(visible).join(" · ");
    // These attributes are shown on small screens, which have no room for cells.
    setAttribute(last, "data-where", where ? `${where}${changed && " · "}` : null);
    const text = row.ended ? "" : isEvents(resource) ? eventText(row, resource.columns) : reason(row, resource.columns);
    setAttribute(last, "data-why", text ? `${where || changed ? " · " : ""}${text}` : null);
  }

  /** highlight highlights a row that has just changed. The animation starts at the time of the change, even if the row
   * becomes visible later. */
  highlight(element, row, layout, inTable) {
    const elapsed = performance.now() - (row.fresh ?? -highlightFor);
    const isFresh = elapsed < highlightFor;
    if (isFresh && element.highlightedAt !== row.fresh) {
      element.highlightedAt = row.fresh;
      element.style.setProperty("--since", `${-elapsed}ms`);
      // The two classes have equal animations with different names, so that changing the class restarts the animation.
      element.highlightClass = element.highlightClass === "fresh" ? "fresh again" : "fresh";
    }
    const name = isFresh ? `${element.baseClass} ${element.highlightClass}` : element.baseClass;
    if (element.className !== name) element.className = name;
    if (!inTable) return;
    const columns = this.resource(row.resource).columns;
    layout.shown.forEach((column, i) => {
      const isNew = isFresh && row.newCells?.includes(column);
      setClass(element.children[i + 1], `cell${isNumber(columns[column]) ? " num" : ""}${isImages(columns[column]) ? " ends" : ""}${isNew ? " new" : ""}`);
    });
  }

  /** drawHeading shows the section of the first visible row above the rows. */
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

/** zeroWidth returns the width of "0" (the CSS unit ch) in pixels. */
function zeroWidth(style) {
  const g = zeroWidth.context ??= document.createElement("canvas").getContext("2d");
  g.font = `${style.fontSize} ${style.fontFamily}`;
  return g.measureText("0").width || 8;
}

/** reason returns why an object is not ready: the server's column Status, or the message of its state. */
export function reason(row, columns) {
  if (["Current", "Unknown", "Normal"].includes(row.status.state)) return "";
  const cell = row.cells?.[columns.findIndex((c) => c.name === "Status")];
  return visible(typeof cell === "string" && cell ? cell : row.status.message ?? "");
}

/** eventText returns "Reason: Message" of an Event. */
function eventText(row, columns) {
  const cell = (name) => row.cells?.[columns.findIndex((c) => c.name === name)];
  return [cell("Reason"), cell("Message")].filter(Boolean).map(visible).join(": ");
}

/** fillImages writes images so that their end is not truncated: registry.example/…/checkout:5.2. */
function fillImages(cell, text, width) {
  if (cell.children.length !== 2) cell.replaceChildren(h("span", { class: "stem" }), h("span", { class: "tail" }));
  const short = text.replace(/@sha256:([0-9a-f]{8})[0-9a-f]{56}/g, "@$1");
  const from = Math.max(short.lastIndexOf("/", short.length - 2) + 1, short.length - Math.floor(width) + 2, 0);
  setText(cell.firstChild, short.slice(0, from));
  setText(cell.lastChild, short.slice(from));
}

const timelineLayout = { shown: [], grid: "minmax(0, var(--title))" };

/** barText describes the bar of an object for screen readers. */
function barText(row, now, warnings) {
  const until = row.ended || now;
  const since = row.segments.at(-1)?.[0] ?? row.first;
  const state = row.ended ? `deleted, was ${row.status.state}` : row.status.state;
  return `${state} for ${age(until - since)}, ${row.changes ?? 0} changes${warnings ? `, ${count(warnings, "Warning")}` : ""}`;
}

/** shape replaces the children of a reused row if it had another shape. */
function shape(element, name, children) {
  if (element.shape === name) return;
  element.shape = name;
  element.highlightedAt = 0;
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

function fillSection(element, resource, layout, item, staleSince) {
  if (element.style.gridTemplateColumns !== layout.grid) element.style.gridTemplateColumns = layout.grid;
  const [name, group, count, stale] = element.firstChild.children;
  setText(stale, staleSince ? `as of ${clock(staleSince)}` : "");
  setText(name, resource.resource);
  setText(group, resource.group ?? "");
  setText(count, item.count.toLocaleString("en"));
  layout.shown.forEach((column, i) => {
    const cell = element.children[i + 1];
    setText(cell, visible(resource.columns[column].name));
    setClass(cell, `cell${isNumber(resource.columns[column]) ? " num" : ""}`);
  });
  const [state, ageCell, last] = [...element.children].slice(-3);
  setText(state, "State"); // the server may have a column named Status
  setText(ageCell, "Age");
  setText(last, "Changed");
}

function objectCells(layout, inTable) {
  const cell = (name) => h("span", { role: "gridcell", class: name });
  const title = h("span", { role: "gridcell", class: "title" },
    h("span", { class: "tree" }), h("span", { class: "dot" }), h("em", { class: "cluster" }), h("span", { class: "kind" }),
    h("b", {}, h("span", { class: "stem" }), h("span", { class: "tail" })), h("i"), h("span", { class: "fold" }));
  if (!inTable) return [title, cell("visually-hidden")];
  return [title, ...layout.shown.map(() => cell("cell")), cell("state"), cell("when age"), cell("when last")];
}
