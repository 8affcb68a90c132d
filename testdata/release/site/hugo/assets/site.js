'use strict';

// Search. The index is a script that calls searchIndex, because browsers do not let pages from files fetch other files.
// It is loaded when the search field gets the focus.

const root = document.currentScript.dataset.root;
const box = document.querySelector('.search');
const field = box.querySelector('input');
const panel = document.getElementById('results');
const status = panel.querySelector('p');
const list = panel.querySelector('ol');
const shown = 12;

let entries = null; // null until the index is loaded
let requested = false;

function load() {
  if (requested) return;
  requested = true;
  const script = document.createElement('script');
  script.src = root + 'search-index.js';
  script.onerror = () => {
    requested = false;
    status.textContent = 'The search index cannot be loaded.';
  };
  document.head.append(script);
}

window.searchIndex = loaded => {
  entries = loaded.map(entry => ({
    ...entry,
    lower: {title: entry.title.toLowerCase(), heading: entry.heading.toLowerCase(), text: entry.text.toLowerCase()},
  }));
  search();
};

const escaped = word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

// weights says how much a word in a part of an entry counts.
const weights = entry => ({heading: 12, title: entry.heading ? 4 : 16, text: 1});

// score returns how well an entry fits, or 0 if one of the words is missing. Whole words count more than beginnings of
// words, and these more than other parts of words. Pages for contributors come last.
function score(entry, words) {
  let sum = 0;
  for (const {word, part, start, whole} of words) {
    let best = 0;
    for (const [name, weight] of Object.entries(weights(entry))) {
      const text = entry.lower[name];
      if (!part.test(text)) continue;
      best += weight * (whole.test(text) ? 2 : start.test(text) ? 1 : .2);
      if (name === 'text') best += Math.min(text.split(word).length, 5) / 5;
    }
    if (!best) return 0;
    sum += best;
  }
  return entry.group === 'Contributing' || entry.group === 'Project' ? sum / 4 : sum;
}

// marked returns a fragment of text in which the words are marked.
function marked(text, words) {
  const fragment = document.createDocumentFragment();
  const pattern = new RegExp(words.map(({part}) => part.source).join('|'), 'giu');
  let end = 0;
  for (const found of text.matchAll(pattern)) {
    const mark = document.createElement('mark');
    mark.textContent = found[0];
    fragment.append(text.slice(end, found.index), mark);
    end = found.index + found[0].length;
  }
  fragment.append(text.slice(end));
  return fragment;
}

// excerpt returns the text around the first word.
function excerpt(entry, words) {
  const {text, lower} = entry;
  const positions = words.map(({part}) => lower.text.search(part)).filter(at => at >= 0);
  const first = positions.length > 0 ? Math.min(...positions) : 0;
  const from = first < 60 ? 0 : text.indexOf(' ', first - 50) + 1;
  const to = from + 150 >= text.length ? text.length : text.lastIndexOf(' ', from + 150);
  return (from > 0 ? '… ' : '') + text.slice(from, Math.max(to, first + 20)) + (to < text.length ? ' …' : '');
}

// patterns returns how to find a word. Short words are found only at the beginning of words.
function patterns(word) {
  const start = new RegExp('(?<![\\p{L}\\p{N}])' + escaped(word), 'u');
  return {word, start, part: word.length < 4 ? start : new RegExp(escaped(word), 'u'), whole: new RegExp(start.source + '(?![\\p{L}\\p{N}])', 'u')};
}

function search() {
  const words = [...new Set(field.value.toLowerCase().split(/\s+/).filter(Boolean))].map(patterns);
  panel.hidden = words.length === 0;
  list.replaceChildren();
  if (words.length === 0) return;
  if (!entries) {
    status.textContent = 'Loading the search index …';
    return;
  }
  const found = entries.map(entry => ({entry, points: score(entry, words)}))
    .filter(({points}) => points > 0)
    .sort((a, b) => b.points - a.points);
  status.textContent = found.length === 0 ? 'Nothing found'
    : found.length > shown ? `${shown} of ${found.length} results`
    : found.length === 1 ? '1 result' : `${found.length} results`;
  for (const {entry} of found.slice(0, shown)) {
    const link = document.createElement('a');
    link.href = root + entry.address;
    const title = document.createElement('b');
    title.append(marked(entry.heading ? `${entry.title} › ${entry.heading}` : entry.title, words));
    const group = document.createElement('small');
    group.textContent = entry.group;
    const text = document.createElement('span');
    text.append(marked(excerpt(entry, words), words));
    link.append(title, group, text);
    const item = document.createElement('li');
    item.append(link);
    list.append(item);
  }
}

box.hidden = false;
field.addEventListener('focus', load);
field.addEventListener('input', search);
field.addEventListener('focus', search);
box.addEventListener('keydown', event => {
  const links = [...list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (event.key === 'ArrowDown' && at + 1 < links.length) links[at + 1].focus();
  else if (event.key === 'ArrowUp' && at >= 0) (links[at - 1] || field).focus();
  else if (event.key === 'Enter' && at < 0 && links.length > 0) links[0].click();
  else if (event.key === 'Escape') {
    field.value = '';
    field.focus();
    search();
  } else return;
  event.preventDefault();
});
document.addEventListener('keydown', event => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target === field) return;
  event.preventDefault();
  field.focus();
});
document.addEventListener('click', event => {
  // Links to sections of the same page close the results, too.
  if (!box.contains(event.target) || event.target.closest('a')) panel.hidden = true;
});

// The contents of a page are open where there is room for them beside the text.
const contents = document.querySelector('details.toc');
if (contents) {
  const wide = matchMedia('(min-width: 75rem)');
  const fit = () => { contents.open = wide.matches; };
  wide.addEventListener('change', fit);
  fit();
}

// The menu scrolls to the current page where it is a column of its own.
const current = document.querySelector('#menu [aria-current]');
if (current && matchMedia('(min-width: 56rem)').matches) {
  const menu = document.getElementById('menu');
  menu.scrollTop = current.offsetTop - menu.clientHeight / 3;
}
