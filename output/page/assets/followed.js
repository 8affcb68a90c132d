// What followed a change that somebody meant, or says how an object goes, is one line in the feed:
// the server says what is meant, and what it led to. A line that is opened shows its changes.
import { age, clock, count, visible } from "./format.js";
import { change, telling } from "./lines.js";

/** groupOf names the line that a change which was not meant belongs to. */
function groupOf(m, store) {
  if (m.lead) return `#${m.lead}`;
  const [kind, name] = m.root ? [m.root.kind.toLowerCase(), m.root.name] : [store.kind(m.resource), m.name];
  return `${m.cluster ?? ""}/${kind}/${m.namespace ?? ""}/${name}`;
}

/** By how many ms what one watch tells may come before what another one told of a cause of it. */
const unordered = 1000;

/** Followed has these lines: {group, message, first}, of which message is the last. */
export class Followed {
  constructor(store) {
    this.store = store;
    this.opened = new Set(); // names of groups
    this.narrow = false; // there is no room for what changed beside how much did
    this.clear();
  }

  clear() {
    this.groups = new Map();
    this.count = 0;
    this.early = new Map(); // key -> the group of a change of it that came before its owner was known
  }

  /** takeEarly takes away the group of a change of the same object that came before its owner was
   * known, or the lead, and returns that, if it can have followed the same lead. */
  takeEarly(m) {
    const group = this.early.get(m.key), lead = group?.alone && this.store.feed.findLast((one) => one.seq === m.lead);
    this.early.delete(m.key);
    if (!lead || group.line.message.time < lead.time - unordered) return undefined;
    this.groups.delete(group.id);
    this.count -= group.count;
    return group;
  }

  /** add takes a change into its group. It returns that, and whether it is a new one. */
  add(m) {
    const id = groupOf(m, this.store);
    let group = this.groups.get(id);
    const isNew = !group;
    if (isNew) {
      group = { id, lead: m.lead ?? 0, root: m.root, from: m.time, messages: [], keys: new Set(), count: 0 };
      group.line = { group, first: true };
      this.groups.set(id, group);
      if (!m.lead) this.early.set(m.key, group);
    }
    this.count++;
    group.count++;
    group.to = m.time;
    group.keys.add(m.key);
    group.messages.push(m);
    group.line.message = m;
    return { group, isNew };
  }

  /** drop lets go of what the store does not hold any more. */
  drop() {
    for (const [id, group] of this.groups) {
      const [first] = group.messages;
      if (first.dropped && this.early.get(first.key) === group) this.early.delete(first.key);
      if (group.leads?.dropped) group.line.first = true; // what it stood below is gone
      if (group.line.message.dropped) {
        this.count -= group.count;
        this.groups.delete(id);
      } else if (first.dropped) {
        group.messages = group.messages.filter((m) => !m.dropped);
        group.keys = new Set(group.messages.map((m) => m.key));
      }
    }
  }

  isOpen(group) { return this.opened.has(group.id); }

  toggle(group) {
    if (!this.opened.delete(group.id)) this.opened.add(group.id);
  }

  /** shown are the changes of a group that is opened: of those that are alike the first and the last. */
  shown(group) {
    const last = new Map();
    for (const m of group.messages) if (m.times) last.set(`${m.key} ${m.since}`, m);
    return group.messages.filter((m) => !m.times || last.get(`${m.key} ${m.since}`) === m);
  }

  /** fill writes into a line what the group is now. */
  fill(group) {
    const { line, keys } = group, m = line.message;
    line.open = this.isOpen(group);
    const took = group.to - group.from >= 1000 ? ` in ${age(group.to - group.from)}` : "";
    const one = !group.lead && !this.narrow && keys.size === 1 && telling(m)[0];
    Object.assign(line, { path: "", old: "", arrow: "", new: "", removed: false, who: "" }, one ? change(one) : {});
    const many = keys.size > 1 ? ` of ${count(keys.size, "object")}` : "";
    line.text = `${count(group.count, "change")}${group.lead ? " followed" : ""}${many}${took}${one ? times(m) : ""}${this.outcome(group)}`;
    if (one) line.text = `· ${line.text}`;
    line.subject = this.subject(group);
    return line;
  }

  /** outcome says what became of what was meant. */
  outcome(group) {
    const row = group.leads && this.store.objects.get(group.leads.key);
    if (!row || row.ended) return "";
    return { Current: ", done", Failed: ", failed", InProgress: ", not done" }[row.status.state] ?? "";
  }

  /** subject is {kind, name} of what a group is about, where its line does not stand below its lead. */
  subject(group) {
    const m = group.line.message;
    if (group.root) return { kind: group.root.kind.toLowerCase(), name: visible(group.root.name), namespace: m.namespace };
    let row = this.store.objects.get(group.leads?.key ?? m.key);
    for (let up = 0; row && group.lead && up < 9 && this.store.owner(row); up++) row = this.store.owner(row);
    return row && row.key !== m.key ? { kind: this.store.kind(row.resource), name: visible(row.name), namespace: row.namespace } : undefined;
  }
}

/** times says how often it was so, and since when. */
export const times = (m) => (m.times ? `, ${m.times.toLocaleString("en")} × since ${clock(m.since)}` : "");
