// Helpers that create and update DOM elements. Text from a cluster is always set as text, never as
// markup, so that no object can inject HTML or scripts.

/** h creates an element. Names with a dash are set as attributes, "on..." adds an event listener, and
 * all others are set as properties (class is className). Children are elements or strings. */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "role" || name === "for" || name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== ""));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** setText sets the text of an element if it differs. An unchanged text node costs no layout. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** setAttribute sets an attribute if it differs. null removes it. */
export function setAttribute(element, name, value) {
  if (value === null) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value);
  }
}
