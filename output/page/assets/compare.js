// A unified diff of two texts.

/** The maximal number of lines in the result, and the number of context lines. If the changed parts have more than
 * pairLimit pairs of lines, all their lines are reported as removed and added. */
const lineLimit = 2000, contextLines = 1, pairLimit = 4e6;

/** compared returns {diff, diffMore} for two texts: the lines of the diff, and how many are left out. */
export function compared(before, after) {
  const all = unified(edits(before.replace(/\n$/, "").split("\n"), after.replace(/\n$/, "").split("\n")));
  const diff = all.slice(0, lineLimit);
  return { diff, ...(all.length > diff.length && { diffMore: all.length - diff.length }) };
}

/** edits returns the edits from one list of lines to another: [sign, line]. */
function edits(a, b) {
  let first = 0, last = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first++;
  while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last++;
  const same = (lines) => lines.map((line) => [" ", line]);
  return [...same(a.slice(0, first)), ...changed(a.slice(first, a.length - last), b.slice(first, b.length - last)), ...same(a.slice(a.length - last))];
}

/** changed returns the edits between two lists by their longest common subsequence. */
function changed(a, b) {
  if (a.length * b.length > pairLimit) return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  const width = b.length + 1, common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const all = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      all.push([" ", a[i++]]);
      j++;
    } else if (j === b.length || i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1]) {
      all.push(["-", a[i++]]);
    } else {
      all.push(["+", b[j++]]);
    }
  }
  return all;
}

/** unified returns edits as hunks with context lines, each below a line with its position. */
function unified(all) {
  const near = all.map(() => false);
  all.forEach(([sign], n) => {
    if (sign !== " ") near.fill(true, Math.max(0, n - contextLines), n + contextLines + 1);
  });
  const lines = [];
  let before = 1, after = 1;
  for (let n = 0; n < all.length; n++) {
    if (near[n] && !near[n - 1]) {
      let end = n, minus = 0, plus = 0;
      for (; near[end]; end++) {
        if (all[end][0] !== "+") minus++;
        if (all[end][0] !== "-") plus++;
      }
      lines.push(`@@ -${before},${minus} +${after},${plus} @@`);
    }
    const [sign, line] = all[n];
    if (near[n]) lines.push(sign + line);
    if (sign !== "+") before++;
    if (sign !== "-") after++;
  }
  return lines;
}
