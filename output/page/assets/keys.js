// Keyboard shortcuts, and the dialog that explains them.
import { h, byId } from "./dom.js";

/** bindings are the keys and descriptions that the dialog lists. */
const bindings = [
  ["/", "search by text; who:NAME finds the changes of a program"],
  ["w", "filter by an expression (CEL), such as object.spec.replicas > 2"],
  ["↑ ↓  j k", "previous, next object"],
  ["Enter", "open the object"],
  ["Esc", "close, or clear the search"],
  ["1 2 3", "objects, timeline, changes"],
  ["← →", "previous, next change (timeline)"],
  ["[ ]", "go back, forward one minute"],
  ["+ − 0", "zoom the timeline in, out; show all of it"],
  ["f", "show or hide owned objects without changes (timeline)"],
  ["n", "not ready only"],
  ["p", "pause, resume"],
  ["g G", "first, last object"],
  ["?", "this help"],
];

/** Rows that a key moves the selection by. */
const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 20, PageUp: -20, Home: -1e9, g: -1e9, End: 1e9, G: 1e9 };
const views = { 1: "table", 2: "timeline", 3: "feed" };
/** Actions without parameters. */
const simpleActions = { "/": "search", w: "where", Enter: "open", f: "fold", n: "notready", p: "pause", "?": "help" };
/** Factors of the visible window; 0 shows all. */
const zooms = { "+": 0.5, "=": 0.5, "-": 2, "−": 2, 0: 0 };

/** listen calls the method of actions for each key that is pressed. */
export function listen(actions) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") return actions.escape(event);
    if (event.target.closest?.("#search") && (event.key === "Enter" || event.key === "ArrowDown")) {
      event.preventDefault();
      return actions.list();
    }
    if (byId("keys").open || isTyping(event.target)) return;
    if (handle(event, actions)) event.preventDefault();
  });
}

/** handle reports whether the key has an action here. */
function handle(event, actions) {
  const { key, target } = event;
  const onButton = target.closest?.("button, a, select, summary");
  if (onButton && (key === "Enter" || key === " ")) return false;
  const isScrollable = target.closest?.("#detail, #filters");
  if (key in moves && !(isScrollable && key.length > 1)) {
    actions.move(moves[key]);
  } else if (key in views) {
    actions.view(views[key]);
  } else if (key in simpleActions) {
    actions[simpleActions[key]]();
  } else if (key === "ArrowLeft" || key === "ArrowRight") {
    return actions.step(key === "ArrowLeft" ? -1 : 1);
  } else if (key === "[" || key === "]") {
    return actions.minute(key === "[" ? -1 : 1);
  } else if (key in zooms) {
    actions.zoom(zooms[key]);
  } else {
    return false;
  }
  return true;
}

function isTyping(element) {
  return element.matches?.("input, textarea, select, [contenteditable]");
}

/** fillHelp fills the dialog with the keys and with notes. */
export function fillHelp(dialog, notes) {
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  dialog.replaceChildren(
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", {}, ...bindings.flatMap(([keys, description]) => [
      h("dt", {}, ...keys.split(/\s+/).flatMap((key) => [h("kbd", {}, key), " "])), h("dd", {}, description)])),
    h("h3", {}, "Good to know"),
    ...notes.map((text) => h("p", { class: "note" }, text)),
    h("div", { class: "foot" }, close));
}
