// The order of the rows in the table by state: failed objects first, then objects that are not ready.
import { rankOf } from "./select.js";

/** How long a row keeps its position after its object recovered, in ms. */
const recoveryDelay = 6000;

/** Ranking stores the rank of each object. An object that gets worse moves up at once. While frozen is set, because the
 * user points at the rows or has scrolled them, no rank changes. */
export class Ranking {
  constructor() {
    this.ranks = new Map(); // key -> rank, without the objects of the last rank
    this.recovered = new Map(); // key -> since when its state is better than its rank
    this.frozen = false;
    this.version = 0; // increases when rows must be sorted again
    this.isNew = true; // no complete set of objects yet, so frozen does not apply
  }

  /** reset discards all ranks, since objects of another time or another run are shown. */
  reset() {
    this.ranks = new Map();
    this.recovered.clear();
    this.isNew = true;
    this.version++;
  }

  /** get returns the rank of an object: 0 failed, 1 not ready, 2 all others. */
  get(key) { return this.ranks.get(key) ?? 2; }

  /** update ranks all objects. loading means that more objects will follow. */
  update(objects, now, loading = false) {
    if (this.frozen && !this.isNew) return;
    this.isNew &&= loading;
    const before = this.ranks, ranks = new Map();
    for (const row of objects.values()) {
      const rank = this.rank(row, now);
      if (rank < 2) ranks.set(row.key, rank);
    }
    this.ranks = ranks;
    for (const key of this.recovered.keys()) if (!ranks.has(key)) this.recovered.delete(key);
    if (before.size !== ranks.size || [...ranks].some(([key, rank]) => before.get(key) !== rank)) this.version++;
  }

  /** rank returns the new rank of a row. A deleted object keeps its rank. */
  rank(row, now) {
    const previous = this.get(row.key), current = row.ended ? previous : rankOf(row);
    if (current <= previous) {
      this.recovered.delete(row.key);
      return current;
    }
    if (!this.recovered.has(row.key)) this.recovered.set(row.key, now);
    return now - this.recovered.get(row.key) < recoveryDelay ? previous : current;
  }
}
