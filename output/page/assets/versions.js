// The choice of the YAML of an object: the current one, the one at an earlier time, or a diff of two.
import { h, setText } from "./dom.js";
import { moment, visible } from "./format.js";

/** VersionPicker has two selects: the version to show and the version to compare it with. A version is the time of a
 * change in ms. 0 is the current version, or no comparison. */
export class VersionPicker {
  /** onChange is called when other content must be shown. */
  constructor({ api, onChange }) {
    Object.assign(this, { api, onChange, request: "" });
    const choice = (label) => {
      const select = h("select", { onchange: () => this.choose() });
      return { select, label: h("label", {}, label, " ", select) };
    };
    this.version = choice("as of");
    this.base = choice("compared with");
    this.element = h("div", { class: "moments", hidden: true }, this.version.label, this.base.label);
  }

  /** open starts over for an object. */
  open(key) {
    Object.assign(this, { key, all: [], answer: null, request: "", pending: 0 });
    this.setVersions([], false);
  }

  /** select selects a version as soon as it is available. */
  select(at) { this.pending = at; }

  /** setVersions updates the available versions. first is when dwatch first saw the object. The options are not
   * replaced while a select has the focus. */
  setVersions(all, ended, first = 0) {
    this.element.hidden = all.length < 2;
    const signature = JSON.stringify([all, ended, first]);
    if (signature !== this.signature && ![this.version.select, this.base.select].includes(document.activeElement)) {
      this.signature = signature;
      const options = all.map((at, i) => [at, i === 0 && at <= first ? `${moment(at)}, first observed` : moment(at)]).reverse();
      this.setOptions(this.version.select, [[0, ended ? "its end" : "now"], ...options]);
      this.setOptions(this.base.select, [[0, "nothing"], ...options]);
    }
    this.all = all;
    if (this.pending !== undefined && (!this.pending || all.includes(this.pending))) {
      this.version.select.value = String(this.pending);
      this.pending = undefined;
      this.choose();
    }
  }

  /** setOptions replaces the options and keeps the selected value if it still exists. */
  setOptions(select, options) {
    const { value } = select;
    select.replaceChildren(...options.map(([at, text]) => h("option", { value: String(at) }, text)));
    select.value = options.some(([at]) => String(at) === value) ? value : "0";
  }

  /** parameters returns the parameters of the query, or null for the current version, which the panel already has. */
  parameters() {
    const at = Number(this.version.select.value), from = Number(this.base.select.value);
    if (!at && !from) return null;
    return { key: this.key, at: at || this.all.at(-1), ...(from && { from }) };
  }

  choose() {
    this.load();
    this.onChange();
  }

  /** load queries the selected content, if it is not the same as before. */
  async load() {
    const parameters = this.parameters(), request = JSON.stringify(parameters);
    if (request === this.request) return;
    this.request = request;
    this.answer = null;
    if (!parameters) return;
    const answer = await this.api("yaml", parameters);
    if (request !== this.request) return;
    this.answer = answer;
    this.onChange();
  }

  /** content returns what to show: {text}, {diff, more} or {note}, or null for the current version. */
  content() {
    this.load(); // the last version may be a newer one
    if (!this.parameters()) return null;
    const { answer } = this;
    if (!answer) return { note: "…" };
    if (answer.error) return { note: answer.error };
    const quiet = answer.quiet ? `Ignored fields may be those of ${moment(answer.quiet)}.` : "";
    if ("from" in this.parameters()) return answer.diff?.length ? { diff: answer.diff, more: answer.diffMore, note: quiet } : { note: ["No difference.", quiet].join(" ").trim() };
    const unsure = answer.unsure ? `States between this one and ${moment(answer.until)} are not retained, and may differ.` : "";
    const note = [unsure, quiet].join(" ").trim();
    return { text: answer.yaml, cut: answer.yamlCut, note };
  }
}

/** diffElement renders the lines of a diff, with a class per line. */
export function diffElement(lines) {
  const classes = { "+": "plus", "-": "minus", "@": "place" };
  return h("pre", { class: "yaml compared", tabIndex: 0, role: "region", "aria-label": "What differs" },
    h("div", {}, ...lines.flatMap((line) => {
      const span = h("span", { class: classes[line[0]] ?? "same" });
      setText(span, visible(line));
      return [span, "\n"];
    })));
}
