// What somebody meant in the ten minutes before something went wrong: none of it need be why.
import { h } from "./dom.js";
import { clock, count, moment, visible } from "./format.js";

/** How many changes are shown at first. */
const mostItems = 12;
/** How many times are named in which not all was seen. */
const mostUnseen = 5;

const near = ["Of it, what it belongs to, and what these name", "In the same namespace", "Elsewhere in the cluster"];

/** wrongSince is since when something is wrong with the object of a row, or with what it owns, and of which object
 * that is said: {key, at}, at of 0 if it was so when it was seen first; null: nothing is. */
export function wrongSince(store, row) {
  if (!row || row.ended) return null;
  const is = (p) => p.key === row.key || p.resource === row.resource && p.root.name === row.name &&
    (p.namespace ?? "") === row.namespace && (p.cluster ?? "") === row.cluster;
  const problem = store.problems?.items?.find((p) => is(p) && !p.over);
  if (problem) return { key: row.key, at: problem.since ?? 0 };
  if (row.status.state !== "Failed") return null;
  const first = row.initial && row.segments.length < 2 && !row.segmentsMore;
  return { key: row.key, at: first ? 0 : row.segments.at(-1)?.[0] ?? 0 };
}

/** ledUp is an answer of api/leadup as elements. more makes a button for a part that is not shown: whole says
 * whether it is. */
export function ledUp({ from, to, items = [], more: rest = 0, busy, missing, forgotten, unseen = [], unseenMore = 0, error }, { store, whole, more, onOpen }) {
  if (error) return h("p", { class: "note" }, visible(error));
  const shown = whole ? items : items.slice(0, mostItems);
  const lines = shown.flatMap((c, i) => [
    c.near !== shown[i - 1]?.near ? h("li", { class: "note" }, near[c.near]) : null,
    h("li", {}, h("div", { class: "head" }, h("time", { title: moment(c.time, 0) }, clock(c.time)),
      h("button", { type: "button", class: "link", onclick: () => onOpen(c.key, c.time) }, visible(`${c.near > 1 && c.namespace ? `${c.namespace} ` : ""}${store.kind(c.resource)}/${c.name}`)),
      h("span", { class: "who" }, visible(c.who ?? ""))), h("p", {}, visible(c.what)))]);
  const lacks = [
    to - from < 599000 ? `What was before ${clock(from)} was not ${busy ? "looked at: it is too much" : "seen"}.` : "",
    missing ? `Of ${count(missing, "object")} not all that changed in that time is held.` : "",
    forgotten ? `Objects that were deleted by ${clock(forgotten)} are not all held.` : "",
    ...unseen.slice(0, mostUnseen).map((u) => `From ${clock(u.from)} to ${clock(u.to)} ${u.resource ? `${u.resource} were not seen` : `not all was seen${u.why ? ` (${u.why})` : ""}`}.`),
    unseen.length + unseenMore > mostUnseen ? `So it was ${count(unseen.length + unseenMore - mostUnseen, "more time")}.` : ""].filter(Boolean).join(" ");
  return [
    h("p", { class: "note" }, `${moment(from, store.now())} to ${clock(to)}: what somebody changed, of all that is watched. It need not be why.`),
    items.length ? h("ul", { class: "history leadup" }, ...lines) : h("p", { class: "note" }, lacks ? "Nothing that is held." : "Nothing."),
    items.length > shown.length ? more(`${items.length - shown.length} more`) : null,
    rest ? h("p", { class: "note" }, `and ${rest} more`) : null,
    lacks ? h("p", { class: "note" }, visible(lacks)) : null].filter(Boolean);
}
