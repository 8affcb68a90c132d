// What is looked at is in the address, so that a link shows somebody else the same.
import { isExported } from "./exported.js";

/** defaults are not written into the address. Lists are sets of names; none: all. */
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
  span: 0, // seconds of the timeline; 0: all
  until: 0, // where it ends, in ms; 0: now
  object: "",
  at: 0, // a change of that object
  time: 0, // that is shown, in ms; 0: the present, or of a recording the one that dwatch was started with
});

/** parse reads the part of an address after "?". What it does not know, it leaves out. */
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

/** write is the opposite: "" or "?" and what differs from the defaults. */
export function write(state) {
  const parameters = new URLSearchParams();
  for (const [name, fallback] of Object.entries(defaults)) {
    const value = state[name];
    if (Array.isArray(fallback) ? value.length : value !== fallback) parameters.set(name, String(value));
  }
  // "," and "/" mean nothing in a query, and a link is read by people, too.
  const text = parameters.toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":");
  return text && `?${text}`;
}

/** In a file the address is behind "#", wherever it is opened from: a browser takes what is behind "?" for another file. */
const inFile = isExported;

/** read is what the address says. */
export const read = () => parse(inFile ? location.hash.replace(/^#/, "") : location.search);

/** address is where a state is. */
function address(state) {
  const text = write(state);
  return inFile ? `#${text.slice(1)}` : text || location.pathname;
}

/** go writes a state into the address; step says that back leads to the one before. */
export function go(state, step) {
  try {
    history[step ? "pushState" : "replaceState"](null, "", address(state));
  } catch {
    // A file may be where the address stays as it is, as in a frame without rights: what is looked at is shown all the same.
  }
}

/** toggle is a set of names with name in it, or without it if it was. */
export function toggle(names, name) {
  return names.includes(name) ? names.filter((n) => n !== name) : [...names, name];
}
