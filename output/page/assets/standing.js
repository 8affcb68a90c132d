// Which rows of the table stand first, since they need a look.
import { rankOf } from "./select.js";

/** How long what is well again stays where it stands. */
const staysFor = 6000;

/** Standing has the rank by which objects are sorted: what fails goes up at once. While it is held, as somebody points at the
 * rows or has scrolled them, no row that is there goes anywhere. */
export class Standing {
  constructor() {
    this.ranks = new Map(); // key -> rank, of those that do not stand last
    this.well = new Map(); // key -> since when it is well again, or less bad
    this.held = false;
    this.version = 0; // goes up when rows are to be sorted anew
    this.isNew = true; // nothing that stands anywhere is to be held
  }

  /** reset forgets how objects were: others are shown, or those of another time. */
  reset() {
    this.ranks = new Map();
    this.well.clear();
    this.isNew = true;
    this.version++;
  }

  /** of is 0 of what has failed, 1 of what is not ready, and 2 of all else. */
  of(key) { return this.ranks.get(key) ?? 2; }

  /** take takes over how objects are at a time, of which more come if it is loading. */
  take(objects, now, loading = false) {
    if (this.held && !this.isNew) return;
    this.isNew &&= loading;
    const before = this.ranks, ranks = new Map();
    for (const row of objects.values()) {
      const rank = this.rank(row, now);
      if (rank < 2) ranks.set(row.key, rank);
    }
    this.ranks = ranks;
    for (const key of this.well.keys()) if (!ranks.has(key)) this.well.delete(key);
    if (before.size !== ranks.size || [...ranks].some(([key, rank]) => before.get(key) !== rank)) this.version++;
  }

  /** rank is by what a row is to stand; of what is over by what it stood. */
  rank(row, now) {
    const stood = this.of(row.key), is = row.ended ? stood : rankOf(row);
    if (is <= stood) {
      this.well.delete(row.key);
      return is;
    }
    if (!this.well.has(row.key)) this.well.set(row.key, now);
    return now - this.well.get(row.key) < staysFor ? stood : is;
  }
}
