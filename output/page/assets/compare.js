// What differs between two texts, line by line, as a unified difference.

/** How many lines of a difference there are at most, how many around what differs, and up to how many pairs of lines are
 * compared: where there are more, all of it differs. */
const mostLines = 2000, around = 1, mostPairs = 4e6;

/** compared is {diff, diffMore} between two texts. */
export function compared(before, after) {
  const all = unified(steps(before.replace(/\n$/, "").split("\n"), after.replace(/\n$/, "").split("\n")));
  const diff = all.slice(0, mostLines);
  return { diff, ...(all.length > diff.length && { diffMore: all.length - diff.length }) };
}

/** steps lead from one list of lines to another: [sign, line]. */
function steps(a, b) {
  let first = 0, last = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first++;
  while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last++;
  const same = (lines) => lines.map((line) => [" ", line]);
  return [...same(a.slice(0, first)), ...middle(a.slice(first, a.length - last), b.slice(first, b.length - last)), ...same(a.slice(a.length - last))];
}

/** middle finds the longest list of lines that both have. */
function middle(a, b) {
  if (a.length * b.length > mostPairs) return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
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

/** unified are steps with what is around them, each place below a line that says where it is. */
function unified(all) {
  const near = all.map(() => false);
  all.forEach(([sign], n) => {
    if (sign !== " ") near.fill(true, Math.max(0, n - around), n + around + 1);
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
