// The time axis of the timeline: the visible window and its tick marks. All functions are pure.
import { clock, wallClock, zone } from "./format.js";

/** Distances between two tick marks, in ms. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000);

/** minSpan is the shortest window, in seconds. */
const minSpan = 5;

/** timeWindow returns the visible window [from, to] in ms. If state.span is 0, it begins at start, and is at
 * least 10 s long. */
export function timeWindow(state, start, now) {
  const to = state.until || now;
  if (state.span) return [to - state.span * 1000, to];
  // It begins a little before start, to set existing objects apart from new ones.
  const length = Math.max(10000, to - start);
  return [to - length * 1.03, to];
}

/** marks returns the tick marks {time, label} of an axis of width pixels, at least distance pixels apart. */
export function marks(from, to, width, distance = 84) {
  const minStep = (to - from) / width * distance;
  const step = steps.find((s) => s >= minStep) ?? steps.at(-1);
  // Days begin at midnight in the displayed time zone.
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
  if (text === "00:00:00" || step >= 86400000) return wallClock(time).toLocaleDateString(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
  return text.slice(0, 5);
}

/** zoomed returns the span and until of a window after a zoom around a time. A window that ends near now
 * follows the present (until is 0). A window longer than maxLength ms shows all (span is 0). */
export function zoomed([from, to], around, factor, now, maxLength) {
  const span = Math.max(minSpan, (to - from) * factor / 1000);
  if (span * 1000 >= maxLength) return { span: 0, until: 0 };
  const until = around + (to - around) * factor;
  return { span: Math.round(span), until: until >= now - span * 20 ? 0 : Math.round(until) };
}

/** panned returns the span and until of a window that is moved by offset ms. */
export function panned([from, to], offset, now) {
  const until = to + offset;
  return { span: Math.max(minSpan, Math.round((to - from) / 1000)), until: until >= now ? 0 : Math.round(until) };
}

/** untilWith returns the until of a window of span seconds that shows a time at a position between 0 (left)
 * and 1 (right). It returns 0 if the window ends near now. */
export function untilWith(time, position, span, now) {
  const until = time + (1 - position) * span * 1000;
  return until >= now - span * 20 ? 0 : Math.round(until);
}
