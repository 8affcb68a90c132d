// The intentional changes in the ten minutes before a problem. They are candidates, not proven causes.
import { h } from "./dom.js";
import { clock, count, moment, visible } from "./format.js";

/** The number of changes that are shown at first, and of coverage gaps that are listed. */
const itemLimit = 12, gapLimit = 5;

/** Headings by how closely a change is related (near). */
const headings = ["The object, its owners, and objects that they refer to", "In the same namespace", "Elsewhere in the cluster"];

/** problemStart returns {key, at}: the key of the object and since when it, or an object that it owns, has a problem.
 * at is 0 if the problem is older than the first observation. It returns null if there is no problem. */
export function problemStart(store, row) {
  if (!row || row.ended) return null;
  const isAbout = (p) => p.key === row.key || p.resource === row.resource && p.root.name === row.name &&
    (p.namespace ?? "") === row.namespace && (p.cluster ?? "") === row.cluster;
  const problem = store.problems?.items?.find((p) => isAbout(p) && !p.over);
  if (problem) return { key: row.key, at: problem.since ?? 0 };
  if (row.status.state !== "Failed") return null;
  const sinceStart = row.initial && row.segments.length < 2 && !row.segmentsMore;
  return { key: row.key, at: sinceStart ? 0 : row.segments.at(-1)?.[0] ?? 0 };
}

/** leadUpElements renders an answer of api/leadup. If showAll is not set, it shows the first changes only, and
 * moreButton returns a button that shows the others. */
export function leadUpElements({ from, to, items = [], more: rest = 0, busy, missing, forgotten, unseen = [], unseenMore = 0, error }, { store, showAll, moreButton, onOpen }) {
  if (error) return h("p", { class: "note" }, visible(error));
  const shown = showAll ? items : items.slice(0, itemLimit);
  const lines = shown.flatMap((c, i) => [
    c.near !== shown[i - 1]?.near ? h("li", { class: "note" }, headings[c.near]) : null,
    h("li", {}, h("div", { class: "head" }, h("time", { title: moment(c.time, 0) }, clock(c.time)),
      h("button", { type: "button", class: "link", onclick: () => onOpen(c.key, c.time) }, visible(`${c.near > 1 && c.namespace ? `${c.namespace} ` : ""}${store.kind(c.resource)}/${c.name}`)),
      h("span", { class: "who" }, visible(c.who ?? ""))), h("p", {}, visible(c.what)))]);
  const incomplete = [
    to - from < 599000 ? busy ? `Changes before ${clock(from)} were not searched: there are too many.` : `dwatch has no data before ${clock(from)}.` : "",
    missing ? `Some changes of ${count(missing, "object")} in this time are no longer retained.` : "",
    forgotten ? `Some objects deleted before ${clock(forgotten)} are no longer retained.` : "",
    ...unseen.slice(0, gapLimit).map((u) => `From ${clock(u.from)} to ${clock(u.to)} ${u.resource ? `${u.resource} were not watched` : `changes may be missing${u.why ? ` (${u.why})` : ""}`}.`),
    unseen.length + unseenMore > gapLimit ? `${count(unseen.length + unseenMore - gapLimit, "more gap")}.` : ""].filter(Boolean).join(" ");
  return [
    h("p", { class: "note" }, `${moment(from, store.now())} to ${clock(to)}: intentional changes of all watched objects. They need not be the cause.`),
    items.length ? h("ul", { class: "history leadup" }, ...lines) : h("p", { class: "note" }, incomplete ? "No retained changes." : "No changes."),
    items.length > shown.length ? moreButton(`${items.length - shown.length} more`) : null,
    rest ? h("p", { class: "note" }, `and ${rest} more`) : null,
    incomplete ? h("p", { class: "note" }, visible(incomplete)) : null].filter(Boolean);
}
