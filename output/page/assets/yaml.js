// YAML as text in blocks: a browser lays out only the blocks that are seen.
import { h } from "./dom.js";
import { size, visible } from "./format.js";

const blockLines = 60, longestLine = 2000;

/** yamlBlocks are elements with the first lines of a text, and how many lines are left. */
export function yamlBlocks(text, most) {
  const all = text.replace(/\n$/, "").split("\n");
  const shown = all.slice(0, most), blocks = [];
  for (let i = 0; i < shown.length; i += blockLines) {
    blocks.push(h("div", {}, ...shown.slice(i, i + blockLines).flatMap((line) => [...parts(line), "\n"])));
  }
  return { blocks, rest: all.length - shown.length };
}

/** parts is a line with its key marked. A line of a megabyte would stop the browser. */
function parts(line) {
  const tooMuch = line.length - longestLine;
  const text = visible(tooMuch > 0 ? line.slice(0, longestLine) : line);
  const end = tooMuch > 0 ? [`… (${size(line.length)}; Copy has all of it)`] : [];
  const key = /^(\s*(?:- )*)([^\s"'#:{[|>-][^:]{0,200}):(?=\s|$)/.exec(text);
  if (!key) return [text, ...end];
  return [key[1], h("span", { class: "key" }, key[2]), text.slice(key[0].length - 1), ...end].filter(Boolean);
}
