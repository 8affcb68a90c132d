// Warnings are marks on the lane of the object that they are about, and not lanes of their own.
import { visible } from "./format.js";

/** Warnings knows those of Events that are watched, and those that the server was asked for about one object. */
export class Warnings {
  constructor(store) {
    this.store = store;
    this.asked = new Map(); // kind/name, or "" for the object itself, -> marks
  }

  /** ask takes over the answer about an object that is open; null: there is none. */
  ask(key, answer) {
    this.about = key;
    this.asked.clear();
    for (const e of answer?.items ?? []) {
      if (!e.warning) continue;
      const mark = { time: e.time, text: text(e.count, e.reason, e.message) };
      this.asked.set(e.about ?? "", [...(this.asked.get(e.about ?? "") ?? []), mark]);
    }
  }

  /** oldest is when the first mark was; Infinity: there is none. */
  oldest() {
    const { store } = this;
    if (this.counted !== store.membership) {
      this.counted = store.membership;
      this.first = Infinity;
      for (const keys of store.eventsByObject.values()) {
        for (const key of keys) {
          const row = store.objects.get(key);
          if (row?.status.state === "Warning") this.first = Math.min(this.first, ...times(row));
        }
      }
    }
    return Math.min(this.first, ...[...this.asked.values()].flat().map(({ time }) => time));
  }

  /** of are the marks of an object: {time, text}. */
  of(row) {
    const watched = this.store.eventsOf(row).filter((e) => e.status.state === "Warning");
    if (watched.length) return watched.flatMap((e) => times(e).map((time) => ({ time, text: this.text(e) })));
    const open = this.asked.size && this.store.objects.get(this.about);
    if (!open) return [];
    if (open === row) return this.asked.get("") ?? [];
    const isOf = (row.cluster ?? "") === (open.cluster ?? "") && (row.namespace === open.namespace || !open.namespace);
    return isOf && this.asked.get(`${this.store.kind(row.resource)}/${row.name}`) || [];
  }

  text(row) {
    const columns = this.store.resources.get(row.resource)?.columns ?? [];
    const cell = (name) => row.cells?.[columns.findIndex((c) => c.name === name)];
    return text(cell("Count"), cell("Reason") ?? row.name, cell("Message") ?? "");
  }
}

/** times is when an Event was seen to happen, and of one that a list had when it says that it had. */
export function times(row) {
  const listed = !row.initial && row.about?.at; // and when it was found is not when it happened
  const before = row.initial ? [row.created, row.about?.at] : [listed || row.first];
  return [...new Set([...before, ...row.ticks.filter((at) => !listed || at !== row.first)])].filter(Boolean);
}

const text = (count, reason, message) => visible([`${count > 1 ? `\u00d7${count} ` : ""}Warning ${reason}`, message].filter(Boolean).join(": "));
