// The Warning Events of an object. The timeline shows them as marks on the bar of the object, not as bars.
import { visible } from "./format.js";

/** Warnings finds Warnings among the watched Events, and among the Events that were queried for the open object. */
export class Warnings {
  constructor(store) {
    this.store = store;
    this.queried = new Map(); // kind/name of the involved object, or "" for the open object, -> marks
  }

  /** setQueried stores the Events of the open object. null means that there is no answer. */
  setQueried(key, answer) {
    this.openKey = key;
    this.queried.clear();
    for (const e of answer?.items ?? []) {
      if (!e.warning) continue;
      const mark = { time: e.time, text: text(e.count, e.reason, e.message) };
      this.queried.set(e.about ?? "", [...(this.queried.get(e.about ?? "") ?? []), mark]);
    }
  }

  /** oldest returns the time of the oldest mark, or Infinity if there is none. */
  oldest() {
    const { store } = this;
    if (this.membership !== store.membership) {
      this.membership = store.membership;
      this.oldestWatched = Infinity;
      for (const keys of store.eventsByObject.values()) {
        for (const key of keys) {
          const row = store.objects.get(key);
          if (row?.status.state === "Warning") this.oldestWatched = Math.min(this.oldestWatched, ...times(row));
        }
      }
    }
    return Math.min(this.oldestWatched, ...[...this.queried.values()].flat().map(({ time }) => time));
  }

  /** marks returns the marks of an object: {time, text}. */
  marks(row) {
    const watched = this.store.eventsOf(row).filter((e) => e.status.state === "Warning");
    if (watched.length) return watched.flatMap((e) => times(e).map((time) => ({ time, text: this.text(e) })));
    const open = this.queried.size && this.store.objects.get(this.openKey);
    if (!open) return [];
    if (open === row) return this.queried.get("") ?? [];
    const isInScope = (row.cluster ?? "") === (open.cluster ?? "") && (row.namespace === open.namespace || !open.namespace);
    return isInScope && this.queried.get(`${this.store.kind(row.resource)}/${row.name}`) || [];
  }

  text(row) {
    const columns = this.store.resources.get(row.resource)?.columns ?? [];
    const cell = (name) => row.cells?.[columns.findIndex((c) => c.name === name)];
    return text(cell("Count"), cell("Reason") ?? row.name, cell("Message") ?? "");
  }
}

/** times returns when an Event occurred: the times when dwatch saw it, and for an Event that came from a list the time
 * that it states. */
export function times(row) {
  const listed = !row.initial && row.about?.at; // then the time when dwatch saw it is not when it occurred
  const before = row.initial ? [row.created, row.about?.at] : [listed || row.first];
  return [...new Set([...before, ...row.ticks.filter((at) => !listed || at !== row.first)])].filter(Boolean);
}

const text = (count, reason, message) => visible([`${count > 1 ? `\u00d7${count} ` : ""}Warning ${reason}`, message].filter(Boolean).join(": "));
