// What happened to an object before dwatch started, reconstructed from the object itself and from the revisions
// of its template. dwatch did not observe it, so it is marked as reconstructed.
import { h } from "./dom.js";
import { age, count, moment, visible } from "./format.js";
import { changeLine, diffLines, fillChange } from "./lines.js";

/** The number of items, and of values per item, that are shown at first. */
const itemLimit = 8, valueLimit = 3;

/** Descriptions by the source of an item (from). */
const descriptions = {
  creationTimestamp: () => "created",
  managedFields: (m) => (m.changes?.length ? "wrote; owns since" : "wrote"),
  revision: (m) => `revision ${m.revision} of the template was created`,
  deletionTimestamp: () => "deletion requested",
};

/** reconstructedElements renders an answer of api/before, or returns null if it is empty. If showAll is not set, it
 * shows the newest items only, and moreButton returns a button that shows the others. */
export function reconstructedElements({ items = [], error }, now, showAll, moreButton) {
  if (!items.length && !error) return null;
  const shown = showAll ? items : items.slice(0, itemLimit);
  return [
    items.length ? h("p", { class: "note" }, "Not observed, but reconstructed from the object: the last write of each program, and the retained revisions.") : null,
    error ? h("p", { class: "note" }, visible(error)) : null,
    items.length ? h("ul", { class: "history reconstructed" }, ...shown.map((m) => item(m, now, showAll))) : null,
    items.length > shown.length ? moreButton(`${items.length - shown.length} older`) : null,
  ].filter(Boolean);
}

function item(m, now, showAll) {
  const all = m.changes ?? [], values = m.from === "managedFields" && !showAll && all.length > valueLimit + 1 ? all.slice(0, valueLimit) : all;
  const rest = all.length - values.length + (m.more ?? 0);
  return h("li", {},
    h("div", { class: "head" }, h("time", { title: `${age(now - m.time)} ago` }, moment(m.time, now)), h("span", { class: "sign notice" }, "<"),
      h("span", {}, (descriptions[m.from] ?? (() => visible(m.from)))(m)), h("span", { class: "who" }, visible(m.who ?? ""))),
    ...values.flatMap((c) => (m.from === "managedFields" ? [{ ...changeLine(c), arrow: "=" }] : [changeLine(c), ...diffLines(c, 20)])).map((line) => {
      const element = h("div", { class: `what${line.diff ? " line" : ""}` }, ...["path", "old", "arrow", "new-value", "words"].map((name) => h("span", { class: name })));
      fillChange(element, line, 400);
      return element;
    }),
    rest ? h("p", { class: "note" }, `and ${count(rest, "more field")}`) : null);
}
