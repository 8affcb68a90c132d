// YAML as elements, in blocks of lines, so that the browser lays out only the visible blocks.
import { h } from "./dom.js";
import { size, visible } from "./format.js";

/** Lines per block, and characters that are shown of a line. */
const blockLines = 60, lineLimit = 2000;

/** yamlBlocks returns the first limit lines of a text as elements (blocks), and the number of remaining lines (rest). */
export function yamlBlocks(text, limit) {
  const all = text.replace(/\n$/, "").split("\n");
  const shown = all.slice(0, limit), blocks = [];
  for (let i = 0; i < shown.length; i += blockLines) {
    blocks.push(h("div", {}, ...shown.slice(i, i + blockLines).flatMap((line) => [...highlighted(line), "\n"])));
  }
  return { blocks, rest: all.length - shown.length };
}

/** highlighted returns a line as text and elements, with its key marked. Long lines are cut, since a line of a
 * megabyte would freeze the browser. */
function highlighted(line) {
  const isCut = line.length > lineLimit;
  const text = visible(isCut ? line.slice(0, lineLimit) : line);
  const end = isCut ? [`… (${size(line.length)}; Copy has all of it)`] : [];
  const key = /^(\s*(?:- )*)([^\s"'#:{[|>-][^:]{0,200}):(?=\s|$)/.exec(text);
  if (!key) return [text, ...end];
  return [key[1], h("span", { class: "key" }, key[2]), text.slice(key[0].length - 1), ...end].filter(Boolean);
}
