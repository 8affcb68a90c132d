// The time axis: which window of time is shown, and where its lines are. Pure functions.
import { clock, wall, zone } from "./format.js";

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000);

/** shortest is the shortest window that can be shown, in seconds. */
export const shortest = 5;

/** timeWindow is [from, to] in ms: of so many seconds, or everything since start. */
export function timeWindow(state, start, now) {
  const to = state.until || now;
  if (state.span) return [to - state.span * 1000, to];
  // A little before the start, so that what was there is told from what came.
  const length = Math.max(10000, to - start);
  return [to - length * 1.03, to];
}

/** marks are the lines of an axis with their labels, at least so many pixels apart. */
export function marks(from, to, width, apart = 84) {
  const least = (to - from) / width * apart;
  const step = steps.find((s) => s >= least) ?? steps.at(-1);
  // Midnight by the clocks that are shown is where days begin.
  const offset = zone(from);
  const all = [];
  for (let t = Math.ceil((from - offset) / step) * step + offset; t <= to; t += step) {
    all.push({ time: t, label: label(t, step) });
  }
  return all;
}

function label(time, step) {
  const text = clock(time);
  if (step < 60000) return text;
  if (text === "00:00:00" || step >= 86400000) return wall(time).toLocaleDateString(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
  return text.slice(0, 5);
}

/** zoomed is span and until after a zoom around a moment. Where now is near the right
 * edge, it stays there: what is shown goes on. */
export function zoomed([from, to], around, factor, now, longest) {
  const span = Math.max(shortest, (to - from) * factor / 1000);
  if (span * 1000 >= longest) return { span: 0, until: 0 };
  const until = around + (to - around) * factor;
  return { span: Math.round(span), until: until >= now - span * 20 ? 0 : Math.round(until) };
}

/** panned is the same window, moved. */
export function panned([from, to], by, now) {
  const until = to + by;
  return { span: Math.max(shortest, Math.round((to - from) / 1000)), until: until >= now ? 0 : Math.round(until) };
}

/** untilWith is where a window of so many seconds ends in which a time stands at a share of it. */
export function untilWith(time, share, span, now) {
  const until = time + (1 - share) * span * 1000;
  return until >= now - span * 20 ? 0 : Math.round(until);
}
