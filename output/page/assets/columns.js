// The columns of a resource: which of the server's are shown, and how wide. Widths are in
// characters and only grow, so that a table does not jump when its values change.
import { age, visible } from "./format.js";

const widest = 34, gap = 2.2;
/** The name has room for what most are, and more than that before a column of `-o wide`. */
const title = { least: 22, most: 44, dot: 4 };
/** From so many characters on there is room for why an object is not as it should be. */
const roomy = 100, wideState = 18;
const fixed = { state: 12, age: 6, last: 9 };

export class Columns {
  constructor() {
    this.widths = new Map(); // id of a resource -> of each column
    this.titles = new Map(); // id of a resource -> of the name
    this.version = 0; // goes up when a width becomes another
  }

  /** measure looks at the name and the cells of a row. */
  measure(resource, row) {
    const name = row.name.length + 0.9 * (row.namespace?.length ?? 0) + title.dot;
    if (name > (this.titles.get(resource.id) ?? 0)) {
      this.titles.set(resource.id, name);
      this.version++;
    }
    let widths = this.widths.get(resource.id);
    if (!widths || widths.length < resource.columns.length) {
      widths = resource.columns.map((c) => Math.min(widest, c.name.length + 1));
      this.widths.set(resource.id, widths);
      this.version++;
    }
    row.cells?.forEach((cell, i) => {
      // Letters are wider than a 0; what counts gets longer.
      const length = resource.columns[i].counts ? fixed.age : Math.min(widest, cellText(cell).length + 1);
      if (length > (widths[i] ?? 0)) {
        widths[i] = length;
        this.version++;
      }
    });
  }

  /** layout is which columns have room in so many characters, and their grid. */
  layout(resource, room) {
    const widths = this.widths.get(resource.id) ?? [];
    const state = room >= roomy ? wideState : fixed.state;
    let left = room - state - fixed.age - fixed.last - 4 * gap;
    const wanted = Math.max(title.least, Math.min(title.most, this.titles.get(resource.id) ?? 0));
    const shown = [];
    for (const wide of [false, true]) {
      for (const i of own(resource).filter((i) => Boolean(resource.columns[i].priority) === wide)) {
        const width = (widths[i] ?? resource.columns[i].name.length + 1) + gap;
        if (width > left - (wide ? wanted : title.least)) break;
        left -= width;
        shown.push(i);
      }
    }
    shown.sort((a, b) => a - b);
    const tracks = shown.map((i) => `${widths[i] ?? resource.columns[i].name.length + 1}ch`);
    return { shown, grid: `minmax(0, 1fr) ${tracks.join(" ")} ${state}ch ${fixed.age}ch ${fixed.last}ch` };
  }
}

/** own are the places of the columns that the page has not anyway. What the server counts,
 * and nobody knows from when, would be old at once: it is not sent. */
export function own(resource) {
  const known = new Set(["name", "age", "last seen", "first seen", "last schedule"]);
  const isOwn = (c) => c.counts || c.type !== "date" && !known.has(c.name.toLowerCase());
  return (resource.columns ?? []).map((_, i) => i).filter((i) => isOwn(resource.columns[i]));
}

/** cellText is a cell as it is shown; of a column that counts, as it is now. */
export function cellText(cell, column, now) {
  if (cell === null || cell === undefined) return "";
  return column?.counts && typeof cell === "number" ? age(now - cell) : visible(cell);
}

export const isNumber = (column) => column.type === "integer" || column.type === "number";
