// Which YAML of an object is shown: as it is, as it was at a moment, or what differs between two.
import { h, setText } from "./dom.js";
import { moment, visible } from "./format.js";

export class Moments {
  /** onChange is called when something else is to be shown. */
  constructor({ api, onChange }) {
    Object.assign(this, { api, onChange, asked: "" });
    const choice = (label) => {
      const select = h("select", { onchange: () => this.choose() });
      return { select, label: h("label", {}, label, " ", select) };
    };
    this.of = choice("as of");
    this.from = choice("compared with");
    this.element = h("div", { class: "moments", hidden: true }, this.of.label, this.from.label);
  }

  /** open is for an object. */
  open(key) {
    Object.assign(this, { key, all: [], answer: null, asked: "", wanted: 0 });
    this.fill([], false);
  }

  /** lead has it as of a change, as soon as that is known; 0: as it is. */
  lead(at) { this.wanted = at; }

  /** fill takes over which moments are held of what was seen first at a time. Who is choosing is not disturbed. */
  fill(all, ended, first = 0) {
    this.element.hidden = all.length < 2;
    const text = JSON.stringify([all, ended, first]);
    if (text !== this.filled && ![this.of.select, this.from.select].includes(document.activeElement)) {
      this.filled = text;
      const options = all.map((at, i) => [at, i === 0 && at <= first ? `${moment(at)}, as seen first` : moment(at)]).reverse();
      this.options(this.of.select, [[0, ended ? "its end" : "now"], ...options]);
      this.options(this.from.select, [[0, "nothing"], ...options]);
    }
    this.all = all;
    if (this.wanted !== undefined && (!this.wanted || all.includes(this.wanted))) {
      this.of.select.value = String(this.wanted);
      this.wanted = undefined;
      this.choose();
    }
  }

  options(select, options) {
    const { value } = select;
    select.replaceChildren(...options.map(([at, text]) => h("option", { value: String(at) }, text)));
    select.value = options.some(([at]) => String(at) === value) ? value : "0";
  }

  /** asks is what is asked for; null: how it is now, which the panel has. */
  asks() {
    const of = Number(this.of.select.value), from = Number(this.from.select.value);
    if (!of && !from) return null;
    return { key: this.key, at: of || this.all.at(-1), ...(from && { from }) };
  }

  choose() {
    this.ask();
    this.onChange();
  }

  async ask() {
    const asks = this.asks(), asked = JSON.stringify(asks);
    if (asked === this.asked) return;
    this.asked = asked;
    this.answer = null;
    if (!asks) return;
    const answer = await this.api("yaml", asks);
    if (asked !== this.asked) return;
    this.answer = answer;
    this.onChange();
  }

  /** shown is what there is to show: {text}, {diff, more}, or {note}; null: how it is now. */
  shown() {
    this.ask(); // now is another moment by now
    if (!this.asks()) return null;
    const { answer } = this;
    if (!answer) return { note: "…" };
    if (answer.error) return { note: answer.error };
    const quiet = answer.quiet ? `What does not count as a change may be as it was at ${moment(answer.quiet)}.` : "";
    if ("from" in this.asks()) return answer.diff?.length ? { diff: answer.diff, more: answer.diffMore, note: quiet } : { note: ["No difference.", quiet].join(" ").trim() };
    const unsure = answer.unsure ? `Until ${moment(answer.until)} it may have been otherwise: states in between are not held.` : "";
    const note = [unsure, quiet].join(" ").trim();
    return { text: answer.yaml, cut: answer.yamlCut, note };
  }
}

/** diffText is a difference between two YAMLs as elements, each line in its colour. */
export function diffText(lines) {
  const names = { "+": "plus", "-": "minus", "@": "place" };
  return h("pre", { class: "yaml compared", tabIndex: 0, role: "region", "aria-label": "What differs" },
    h("div", {}, ...lines.flatMap((line) => {
      const span = h("span", { class: names[line[0]] ?? "same" });
      setText(span, visible(line));
      return [span, "\n"];
    })));
}
