// What happened to an object before dwatch began, as far as it shows that itself. Nobody saw it: it is marked so.
import { h } from "./dom.js";
import { age, count, moment, visible } from "./format.js";
import { change, diffLines, fillChange } from "./lines.js";

/** How many items, and how many values of one, are shown at first. */
const mostItems = 8, mostValues = 3;

const words = {
  creationTimestamp: () => "created",
  managedFields: (m) => (m.changes?.length ? "wrote; holds since" : "wrote"),
  revision: (m) => `revision ${m.revision} of the template came`,
  deletionTimestamp: () => "deletion asked for",
};

/** remembered is an answer of api/before as elements; null: there is nothing. more makes a button for a part that
 * is not shown: whole says whether it is. */
export function remembered({ items = [], error }, now, whole, more) {
  if (!items.length && !error) return null;
  const shown = whole ? items : items.slice(0, mostItems);
  return [
    items.length ? h("p", { class: "note" }, "Seen by nobody: it is what the object shows of it, the last write of each program, and the revisions that are kept.") : null,
    error ? h("p", { class: "note" }, visible(error)) : null,
    items.length ? h("ul", { class: "history remembered" }, ...shown.map((m) => item(m, now, whole))) : null,
    items.length > shown.length ? more(`${items.length - shown.length} older`) : null,
  ].filter(Boolean);
}

function item(m, now, whole) {
  const all = m.changes ?? [], values = m.from === "managedFields" && !whole && all.length > mostValues + 1 ? all.slice(0, mostValues) : all;
  const rest = all.length - values.length + (m.more ?? 0);
  return h("li", {},
    h("div", { class: "head" }, h("time", { title: `${age(now - m.time)} ago` }, moment(m.time, now)), h("span", { class: "sign mark" }, "<"),
      h("span", {}, (words[m.from] ?? (() => visible(m.from)))(m)), h("span", { class: "who" }, visible(m.who ?? ""))),
    ...values.flatMap((c) => (m.from === "managedFields" ? [{ ...change(c), arrow: "=" }] : [change(c), ...diffLines(c, 20)])).map((line) => {
      const element = h("div", { class: `what${line.diff ? " line" : ""}` }, ...["path", "old", "arrow", "new-value", "words"].map((name) => h("span", { class: name })));
      fillChange(element, line, 400);
      return element;
    }),
    rest ? h("p", { class: "note" }, `and ${count(rest, "more field")}`) : null);
}
