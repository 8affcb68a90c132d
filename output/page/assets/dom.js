// Elements without markup: whatever comes from a cluster is set as text, so nothing
// that an object says can become part of the page.

/** h makes an element. Properties are set as properties (class is className), names
 * with a dash as attributes; children are elements or text. */
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

/** setText writes only what differs: an unchanged text node costs no layout. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** setAttribute does the same for an attribute; null takes it away. */
export function setAttribute(element, name, value) {
  if (value === null) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value);
  }
}
