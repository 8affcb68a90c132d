// The state of the view is stored in the URL, so that a link shows the same view to others.
import { isExported } from "./exported.js";

/** defaults are the values that are not written into the URL. An empty list selects all names. */
export const defaults = Object.freeze({
  q: "",
  where: "",
  cluster: [],
  kind: [],
  ns: [],
  change: [],
  notready: false,
  view: "table",
  sort: "",
  span: 0, // length of the timeline in seconds; 0 shows all
  until: 0, // end of the timeline in ms; 0 means now
  object: "",
  at: 0, // time of the selected change of that object in ms; 0 selects none
  time: 0, // displayed time in ms; 0 means the present, or for a recording the time of --at
});

/** parse returns the state that a query string describes. It ignores unknown parameters. */
export function parse(search) {
  const parameters = new URLSearchParams(search);
  const state = { ...defaults };
  for (const [name, fallback] of Object.entries(defaults)) {
    if (!parameters.has(name)) continue;
    const text = parameters.get(name);
    if (Array.isArray(fallback)) state[name] = text.split(",").filter(Boolean);
    else if (typeof fallback === "boolean") state[name] = text === "true";
    else if (typeof fallback === "number") state[name] = Number(text) > 0 ? Number(text) : 0;
    else state[name] = text;
  }
  if (!["table", "timeline", "feed"].includes(state.view)) state.view = defaults.view;
  return state;
}

/** write returns the query string of a state, with "?", or "" if all values are defaults. */
export function write(state) {
  const parameters = new URLSearchParams();
  for (const [name, fallback] of Object.entries(defaults)) {
    const value = state[name];
    if (Array.isArray(fallback) ? value.length : value !== fallback) parameters.set(name, String(value));
  }
  // These characters need no escaping in a query, and unescaped links are easier to read.
  const text = parameters.toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":");
  return text && `?${text}`;
}

/** In an exported file, the state is in the fragment: browsers treat a file with another query as another file. */
const inFragment = isExported;

/** read returns the state that the URL of the page describes. */
export const read = () => parse(inFragment ? location.hash.replace(/^#/, "") : location.search);

/** address returns the relative URL of a state. */
function address(state) {
  const text = write(state);
  return inFragment ? `#${text.slice(1)}` : text || location.pathname;
}

/** go writes a state into the URL. If addsHistory is set, the browser's Back button returns to the previous state. */
export function go(state, addsHistory) {
  try {
    history[addsHistory ? "pushState" : "replaceState"](null, "", address(state));
  } catch {
    // The URL can't be changed everywhere, for example in a sandboxed frame. The view works without it.
  }
}

/** toggle returns the list with name added, or removed if it was in it. */
export function toggle(names, name) {
  return names.includes(name) ? names.filter((n) => n !== name) : [...names, name];
}
