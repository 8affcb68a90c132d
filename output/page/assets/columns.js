// The columns of a resource: which of the server's are shown, and how wide. Widths are in
// characters and only grow, so that a table does not jump when its values change.
import { age, shortState, visible } from "./format.js";

const widest = 34, gap = 2.2;
/** How wide a column becomes at most where there is room to spare, and how narrow one whose cells are cut. */
const longest = 100, narrowest = 16;
/** The name has room for what most are, and more than that before a column of `-o wide`. */
const title = { least: 22, most: 44, dot: 4, ofEvent: 10 };
/** From so many characters on there is more room for why an object is not as it should be. */
const roomy = 100, state = { least: 12, roomy: 18, most: 28 };
/** clusterWidth is how wide the name of a cluster is: it may be a whole address, and is cut. */
export const clusterWidth = (name) => Math.min(18, name.length + 1);
const fixed = { age: 6, last: 9 };

export class Columns {
  constructor() {
    this.widths = new Map(); // id of a resource -> of each column, as much as its cells would take
    this.titles = new Map(); // id of a resource -> of the name
    this.states = new Map(); // id of a resource -> of the state
    this.telling = new Map(); // id of a resource -> the columns in which a cell says something
    this.version = 0; // goes up when a width becomes another
  }

  /** measure looks at the name, the state and the cells of a row. */
  measure(resource, row) {
    const where = (row.cluster ? clusterWidth(row.cluster) + 1 : 0) + 0.9 * (row.namespace?.length ?? 0);
    this.grow(this.titles, resource.id, row.name.length + where + title.dot);
    // What is on its way passes, and with it why.
    this.grow(this.states, resource.id, Math.min(shortState(row.status).length + 1, row.status.state === "Failed" ? longest : state.roomy));
    let widths = this.widths.get(resource.id);
    if (!widths || widths.length < resource.columns.length) {
      widths = resource.columns.map((c) => c.name.length + 1);
      this.widths.set(resource.id, widths);
      this.telling.set(resource.id, new Set());
      this.version++;
    }
    row.cells?.forEach((cell, i) => {
      // Letters are wider than a 0; what counts gets longer.
      const length = resource.columns[i].counts ? fixed.age : cellText(cell, resource.columns[i]).length + 1;
      if (length > (widths[i] ?? 0)) {
        widths[i] = Math.min(length, longest);
        this.version++;
      }
      this.tell(resource.id, cell, i);
    });
  }

  grow(map, id, width) {
    if (width <= (map.get(id) ?? 0)) return;
    map.set(id, width);
    this.version++;
  }

  tell(id, cell, i) {
    const telling = this.telling.get(id);
    if (cell === null || cell === undefined || cell === "" || cell === "<none>" || telling.has(i)) return;
    telling.add(i);
    this.version++;
  }

  /** layout is which columns have room in so many characters, how wide they are, and their grid. A column in
   * which no cell says anything has no room. */
  layout(resource, room) {
    const natural = this.widths.get(resource.id) ?? [], telling = this.telling.get(resource.id);
    const width = (i) => natural[i] ?? resource.columns[i].name.length + 1;
    const states = this.states.get(resource.id) ?? 0, widths = new Map();
    let says = Math.max(room >= roomy ? state.roomy : state.least, Math.min(state.most, states));
    if (isEvents(resource)) says = state.least; // it is Normal or Warning
    let left = room - says - fixed.age - fixed.last - 4 * gap;
    const least = isEvents(resource) ? title.ofEvent : title.least; // nobody has named it
    const wanted = isEvents(resource) ? least : Math.max(least, Math.min(title.most, this.titles.get(resource.id) ?? 0));
    for (const wide of [false, true]) {
      const those = ranked(resource).filter((i) => Boolean(resource.columns[i].priority) === wide && (!telling || telling.has(i)));
      for (const i of those) {
        const has = left - (wide ? wanted : least) - gap, wants = Math.min(widest, width(i));
        const takes = isCut(resource.columns[i]) && has >= narrowest ? Math.min(wants, has) : wants;
        if (takes > has) break;
        left -= takes + gap;
        widths.set(i, takes);
      }
    }
    left -= wanted;
    const spend = (has, wants) => {
      const more = Math.max(0, Math.min(wants - has, left));
      left -= more;
      return has + more;
    };
    // What is left over goes to what was cut.
    if (!isEvents(resource)) says = spend(says, Math.min(states, widest));
    for (const i of [...widths.keys()].sort((a, b) => isCut(resource.columns[b]) - isCut(resource.columns[a]))) widths.set(i, spend(widths.get(i), width(i)));
    const shown = [...widths.keys()].sort((a, b) => a - b);
    // And then the columns stand a little farther apart, and nearer to their names.
    const apart = Math.max(0, Math.min(8, left / (shown.length + 3)));
    const tracks = shown.map((i) => `${Math.floor(10 * (widths.get(i) + apart)) / 10}ch`);
    return { shown, widths: shown.map((i) => widths.get(i)), grid: `minmax(0, 1fr) ${tracks.join(" ")} ${Math.floor(says)}ch ${fixed.age}ch ${fixed.last}ch` };
  }
}

export const isEvents = (resource) => /^events(\.events\.k8s\.io)?$/.test(resource.id);

/** isCut: what of its cells has no room is left out at the front, or is told elsewhere, too: a message, images. */
const isCut = (column) => isImages(column) || column.name === "Message";

/** isImages: the end of the cells tells them apart. */
export const isImages = (column) => /^images?$/i.test(column.name);

/** ranked are the places of the columns, those first that are missed most where there is no room for all: the
 * message of an Event, of which the state says the type, and the images of a workload. */
function ranked(resource) {
  const first = isEvents(resource) ? ["Message", "Reason", "Object"] : ["Images"];
  const rank = (i) => (first.indexOf(resource.columns[i].name) + 1 || 9);
  return own(resource).filter((i) => !isEvents(resource) || resource.columns[i].name !== "Type").sort((a, b) => rank(a) - rank(b));
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
