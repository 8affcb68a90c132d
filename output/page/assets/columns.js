// The columns of the table: which of the server's columns are shown, and their widths. Widths are in characters and never
// shrink, so that the layout stays stable when values change.
import { age, shortState, visible } from "./format.js";

/** The widest column while columns compete for space, and the gap between two columns. */
const maxWidth = 34, gap = 2.2;
/** The widest column when space is left over, and the narrowest column whose cells are truncated. */
const maxSpareWidth = 100, minTruncatedWidth = 16;
/** Widths of the name. It grows up to max before a column of -o wide is added. dot is the width of the state symbol. */
const title = { min: 22, max: 44, dot: 4, event: 10 };
/** Widths of the state. A table of at least wideTable characters starts with more space for the reason of a state. */
const wideTable = 100, state = { min: 12, wide: 18, max: 28 };
/** clusterWidth returns the width of the name of a cluster. Long names, such as a URL, are truncated. */
export const clusterWidth = (name) => Math.min(18, name.length + 1);
/** Widths of the last two columns. */
const fixed = { age: 6, last: 9 };

export class Columns {
  constructor() {
    this.widths = new Map(); // id of a resource -> width of the longest cell of each column
    this.titles = new Map(); // id of a resource -> width of the longest name
    this.states = new Map(); // id of a resource -> width of the longest state
    this.nonEmpty = new Map(); // id of a resource -> set of columns with a value
    this.version = 0; // increases with each change that affects layouts
  }

  /** measure lets the columns grow to the name, the state and the cells of a row. */
  measure(resource, row) {
    const location = (row.cluster ? clusterWidth(row.cluster) + 1 : 0) + 0.9 * (row.namespace?.length ?? 0);
    this.grow(this.titles, resource.id, row.name.length + location + title.dot);
    // The reason of an object in progress is temporary, so it gets less space.
    this.grow(this.states, resource.id, Math.min(shortState(row.status).length + 1, row.status.state === "Failed" ? maxSpareWidth : state.wide));
    let widths = this.widths.get(resource.id);
    if (!widths || widths.length < resource.columns.length) {
      widths = resource.columns.map((c) => c.name.length + 1);
      this.widths.set(resource.id, widths);
      this.nonEmpty.set(resource.id, new Set());
      this.version++;
    }
    row.cells?.forEach((cell, i) => {
      // One character is added, since many are wider than a "0". Ages have a fixed width, since they grow.
      const length = resource.columns[i].counts ? fixed.age : cellText(cell, resource.columns[i]).length + 1;
      if (length > (widths[i] ?? 0)) {
        widths[i] = Math.min(length, maxSpareWidth);
        this.version++;
      }
      this.noteValue(resource.id, cell, i);
    });
  }

  grow(map, id, width) {
    if (width <= (map.get(id) ?? 0)) return;
    map.set(id, width);
    this.version++;
  }

  /** noteValue notes that a column has a value. */
  noteValue(id, cell, i) {
    const nonEmpty = this.nonEmpty.get(id);
    if (cell === null || cell === undefined || cell === "" || cell === "<none>" || nonEmpty.has(i)) return;
    nonEmpty.add(i);
    this.version++;
  }

  /** layout returns the columns that fit into a number of characters (shown), their widths, and the CSS grid. Columns
   * without values are left out. */
  layout(resource, available) {
    const natural = this.widths.get(resource.id) ?? [], nonEmpty = this.nonEmpty.get(resource.id);
    const width = (i) => natural[i] ?? resource.columns[i].name.length + 1;
    const states = this.states.get(resource.id) ?? 0, widths = new Map();
    let stateWidth = Math.max(available >= wideTable ? state.wide : state.min, Math.min(state.max, states));
    if (isEvents(resource)) stateWidth = state.min; // Normal or Warning
    let left = available - stateWidth - fixed.age - fixed.last - 4 * gap;
    const minTitle = isEvents(resource) ? title.event : title.min; // names of Events are generated
    const titleWidth = isEvents(resource) ? minTitle : Math.max(minTitle, Math.min(title.max, this.titles.get(resource.id) ?? 0));
    for (const isWide of [false, true]) {
      const candidates = byImportance(resource).filter((i) => Boolean(resource.columns[i].priority) === isWide && (!nonEmpty || nonEmpty.has(i)));
      for (const i of candidates) {
        const room = left - (isWide ? titleWidth : minTitle) - gap, wanted = Math.min(maxWidth, width(i));
        const taken = isTruncatable(resource.columns[i]) && room >= minTruncatedWidth ? Math.min(wanted, room) : wanted;
        if (taken > room) break;
        left -= taken + gap;
        widths.set(i, taken);
      }
    }
    left -= titleWidth;
    const grow = (current, wanted) => {
      const more = Math.max(0, Math.min(wanted - current, left));
      left -= more;
      return current + more;
    };
    // Remaining space goes to the state and to truncated columns first,
    if (!isEvents(resource)) stateWidth = grow(stateWidth, Math.min(states, maxWidth));
    for (const i of [...widths.keys()].sort((a, b) => isTruncatable(resource.columns[b]) - isTruncatable(resource.columns[a]))) widths.set(i, grow(widths.get(i), width(i)));
    const shown = [...widths.keys()].sort((a, b) => a - b);
    // and then to the gaps, which moves the columns closer to the names.
    const extraGap = Math.max(0, Math.min(8, left / (shown.length + 3)));
    const tracks = shown.map((i) => `${Math.floor(10 * (widths.get(i) + extraGap)) / 10}ch`);
    return { shown, widths: shown.map((i) => widths.get(i)), grid: `minmax(0, 1fr) ${tracks.join(" ")} ${Math.floor(stateWidth)}ch ${fixed.age}ch ${fixed.last}ch` };
  }
}

/** isEvents reports whether a resource is events, of either API group. */
export const isEvents = (resource) => /^events(\.events\.k8s\.io)?$/.test(resource.id);

/** isTruncatable reports whether the cells of a column remain useful if they are truncated. */
const isTruncatable = (column) => isImages(column) || column.name === "Message";

/** isImages reports whether a column contains images. They are truncated at the front, since their ends differ. */
export const isImages = (column) => /^images?$/i.test(column.name);

/** byImportance returns the indexes of the columns, the most important ones first. The type of an Event is left out, since
 * it is its state. */
function byImportance(resource) {
  const first = isEvents(resource) ? ["Message", "Reason", "Object"] : ["Images"];
  const rank = (i) => (first.indexOf(resource.columns[i].name) + 1 || 9);
  return own(resource).filter((i) => !isEvents(resource) || resource.columns[i].name !== "Type").sort((a, b) => rank(a) - rank(b));
}

/** own returns the indexes of the columns that the page does not already show in another form, such as the name and the
 * age. Columns of type date are left out unless they count: the server sends them as ages that would be outdated at
 * once. */
export function own(resource) {
  const known = new Set(["name", "age", "last seen", "first seen", "last schedule"]);
  const isOwn = (c) => c.counts || c.type !== "date" && !known.has(c.name.toLowerCase());
  return (resource.columns ?? []).map((_, i) => i).filter((i) => isOwn(resource.columns[i]));
}

/** cellText returns the text of a cell. A cell of a column that counts is a time, and its text is the current age. */
export function cellText(cell, column, now) {
  if (cell === null || cell === undefined) return "";
  return column?.counts && typeof cell === "number" ? age(now - cell) : visible(cell);
}

/** isNumber reports whether a column is numeric. */
export const isNumber = (column) => column.type === "integer" || column.type === "number";
