// Follow-up changes: changes that were not intentional, such as what controllers do after an intentional change. The
// feed shows each group of them as one line that can be expanded. The server decides which changes are intentional
// (meant), and which change is the cause of another one (lead).
import { age, clock, count, visible } from "./format.js";
import { changeLine, remainingChanges } from "./lines.js";

/** groupID returns the ID of the group of a follow-up change: its cause, or else its root object. */
function groupID(m, store) {
  if (m.lead) return `#${m.lead}`;
  const [kind, name] = m.root ? [m.root.kind.toLowerCase(), m.root.name] : [store.kind(m.resource), m.name];
  return `${m.cluster ?? ""}/${kind}/${m.namespace ?? ""}/${name}`;
}

/** How much earlier than its cause a follow-up can arrive, in ms, since different watches deliver them. */
const reorderLimit = 1000;

/** FollowUps groups follow-up changes. Each group has one line {group, message, first}, where message is its last change. */
export class FollowUps {
  constructor(store) {
    this.store = store;
    this.expanded = new Set(); // IDs of groups
    this.narrow = false; // no room for a change next to the number of changes
    this.clear();
  }

  clear() {
    this.groups = new Map(); // ID -> group
    this.count = 0; // changes in all groups
    this.early = new Map(); // key -> group without a known cause that the first change of the object started
  }

  /** takeEarly removes and returns the group that an earlier change of the same object started, if that change was the
   * only one and can have the same cause as m. */
  takeEarly(m) {
    const group = this.early.get(m.key), cause = group?.single && this.store.feed.findLast((other) => other.seq === m.lead);
    this.early.delete(m.key);
    if (!cause || group.line.message.time < cause.time - reorderLimit) return undefined;
    this.groups.delete(group.id);
    this.count -= group.count;
    return group;
  }

  /** add adds a change to its group. It returns the group, and whether it is new. */
  add(m) {
    const id = groupID(m, this.store);
    let group = this.groups.get(id);
    const isNew = !group;
    if (isNew) {
      group = { id, lead: m.lead ?? 0, cause: null, single: null, root: m.root, from: m.time, messages: [], keys: new Set(), count: 0 };
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

  /** removeDropped removes changes that the store has dropped. */
  removeDropped() {
    for (const [id, group] of this.groups) {
      const [first] = group.messages;
      if (first.dropped && this.early.get(first.key) === group) this.early.delete(first.key);
      if (group.cause?.dropped) group.line.first = true; // the line is no longer below its cause
      if (group.line.message.dropped) {
        this.count -= group.count;
        this.groups.delete(id);
      } else if (first.dropped) {
        group.messages = group.messages.filter((m) => !m.dropped);
        group.keys = new Set(group.messages.map((m) => m.key));
      }
    }
  }

  isExpanded(group) { return this.expanded.has(group.id); }

  toggle(group) {
    if (!this.expanded.delete(group.id)) this.expanded.add(group.id);
  }

  /** expandedChanges returns the changes of an expanded group. Of repeated changes, it returns the first and the last. */
  expandedChanges(group) {
    const last = new Map();
    for (const m of group.messages) if (m.times) last.set(`${m.key} ${m.since}`, m);
    return group.messages.filter((m) => !m.times || last.get(`${m.key} ${m.since}`) === m);
  }

  /** update updates the line of a group to its current content. */
  update(group) {
    const { line, keys } = group, m = line.message;
    line.open = this.isExpanded(group);
    const took = group.to - group.from >= 1000 ? ` in ${age(group.to - group.from)}` : "";
    const example = !group.lead && !this.narrow && keys.size === 1 && remainingChanges(m)[0];
    Object.assign(line, { path: "", old: "", arrow: "", new: "", removed: false, who: "" }, example ? changeLine(example) : {});
    const objects = keys.size > 1 ? ` of ${count(keys.size, "object")}` : "";
    line.text = `${count(group.count, "change")}${group.lead ? " followed" : ""}${objects}${took}${example ? repeats(m) : ""}${this.outcome(group)}`;
    if (example) line.text = `· ${line.text}`;
    line.subject = this.subject(group);
    return line;
  }

  /** outcome describes the current state of the object whose change was the cause. */
  outcome(group) {
    const row = group.cause && this.store.objects.get(group.cause.key);
    if (!row || row.ended) return "";
    return { Current: ", done", Failed: ", failed", InProgress: ", not done" }[row.status.state] ?? "";
  }

  /** subject returns {kind, name, namespace} of the object to show for a group, or undefined for that of its message. */
  subject(group) {
    const m = group.line.message;
    if (group.root) return { kind: group.root.kind.toLowerCase(), name: visible(group.root.name), namespace: m.namespace };
    let row = this.store.objects.get(group.cause?.key ?? m.key);
    for (let up = 0; row && group.lead && up < 9 && this.store.owner(row); up++) row = this.store.owner(row);
    return row && row.key !== m.key ? { kind: this.store.kind(row.resource), name: visible(row.name), namespace: row.namespace } : undefined;
  }
}

/** repeats describes how often a change was repeated, and since when. */
export const repeats = (m) => (m.times ? `, ${m.times.toLocaleString("en")} × since ${clock(m.since)}` : "");
