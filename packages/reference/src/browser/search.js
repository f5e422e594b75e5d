/** @import MiniSearch from 'minisearch' */
/** @import { SearchResult } from 'minisearch' */
/** @import { SearchEntry } from './search-entry.d.ts' */

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('search'));
const input = /** @type {HTMLInputElement} */ (dialog.querySelector('input'));
const list = /** @type {HTMLOListElement} */ (dialog.querySelector('ol'));
const status = /** @type {HTMLElement} */ (dialog.querySelector('[role=status]'));

const MAX_RESULTS = 12;
const EXCERPT_LENGTH = 110;

/** @typedef {SearchEntry & { terms: readonly string[] }} Found */

/** @type {Promise<(query: string) => readonly Found[]> | undefined} */
let loading;

/** Loads the library and the entries, when search is first opened. */
async function loadIndex() {
  const load = (/** @type {string | undefined} */ url = '') => import(new URL(url, location.href).href);
  const [library, { entries }] = await Promise.all([load(dialog.dataset['library']), load(dialog.dataset['entries'])]);
  const MiniSearchClass = /** @type {typeof MiniSearch} */ (library.default);
  const index = new MiniSearchClass({
    idField: 'href',
    fields: ['title', 'section', 'keywords', 'text'],
    storeFields: ['title', 'section', 'href', 'text', 'kind'],
    searchOptions: {
      combineWith: 'AND',
      prefix: true,
      // Two letters that changed places are two mistakes.
      fuzzy: (term) => (term.length > 5 ? 2 : term.length > 3 ? 1 : false),
      weights: { fuzzy: 0.2, prefix: 0.5 },
      boost: { title: 4, keywords: 5 },
      boostDocument: (_, __, { kind } = {}) => (kind === 'operation' ? 3 : 1),
    },
  });
  const all = /** @type {SearchEntry[]} */ (entries);
  index.addAll(all);
  return (/** @type {string} */ query) => (query.trim() === '' ? suggest(all) : find(index, query));
}

/** What most readers want, before they have typed anything. @param {readonly SearchEntry[]} entries */
const suggest = (entries) => entries.filter(({ kind }) => kind !== undefined).map((entry) => ({ ...entry, terms: [] }));

/** Operations whose titles have the words come first, then what is called so. @param {MiniSearch<SearchEntry>} index @param {string} query */
function find(index, query) {
  const wanted = query.trim().toLowerCase();
  const rank = (/** @type {SearchResult} */ { title, kind }) => {
    if (kind === 'operation' && title.toLowerCase().includes(wanted)) return 0;
    return title.toLowerCase() === wanted ? 1 : 2;
  };
  const results = index.search(query).toSorted((a, b) => rank(a) - rank(b)); // stable: else by score
  return /** @type {Found[]} */ (/** @type {unknown} */ (results));
}

async function open() {
  if (dialog.open) return;
  dialog.showModal();
  input.select();
  await search();
}

async function search() {
  const query = input.value;
  try {
    loading ??= loadIndex();
    const resultsOf = await loading;
    if (query !== input.value) return; // a later input has its own search
    const results = resultsOf(query).slice(0, MAX_RESULTS);
    list.replaceChildren(...results.map(renderResult));
    status.textContent = results.length === 0 && query.trim() !== '' ? `Nothing found for “${query.trim()}”.` : '';
  } catch (error) {
    loading = undefined; // the next input tries again
    status.textContent = 'The search could not be loaded.';
    throw error;
  }
}

/** @param {Found} result */
function renderResult({ title, section, href, text, terms }) {
  const link = document.createElement('a');
  link.href = new URL((document.documentElement.dataset['root'] ?? '') + href, location.href).href;
  link.append(
    element('strong', title, terms),
    element('span', section, terms),
    element('small', excerpt(text, terms), terms),
  );
  const item = document.createElement('li');
  item.append(link);
  return item;
}

/** An element whose text has the terms marked. @param {string} name @param {string} text @param {readonly string[]} terms */
function element(name, text, terms) {
  const created = document.createElement(name);
  const escaped = terms.map((term) => term.replaceAll(/[^\w]/g, String.raw`\$&`));
  const parts = terms.length === 0 ? [text] : text.split(new RegExp(`(${escaped.join('|')})`, 'i'));
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 0) created.append(part);
    else created.append(Object.assign(document.createElement('mark'), { textContent: part }));
  }
  return created;
}

/** The text around the longest match. @param {string} text @param {readonly string[]} terms */
function excerpt(text, terms) {
  const matches = terms
    .toSorted((a, b) => b.length - a.length)
    .map((term) => text.toLowerCase().indexOf(term))
    .filter((found) => found >= 0);
  const [match = 0] = matches;
  const start = match < EXCERPT_LENGTH / 2 ? 0 : text.indexOf(' ', match - EXCERPT_LENGTH / 3) + 1;
  const end = text.length <= start + EXCERPT_LENGTH ? text.length : text.lastIndexOf(' ', start + EXCERPT_LENGTH);
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`;
}

/** @param {number} step */
function moveFocus(step) {
  const stops = /** @type {HTMLElement[]} */ ([input, ...list.querySelectorAll('a')]);
  const here = stops.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  stops[(here + step + stops.length) % stops.length]?.focus();
}

document.getElementById('search-button')?.addEventListener('click', open);
addEventListener('keydown', (event) => {
  // Autofill dispatches such events without a key.
  const isTyping = event.target instanceof Element && event.target.closest('input, select, textarea') !== null;
  const isShortcut = event.key?.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
  if (!isShortcut && (event.key !== '/' || isTyping)) return;
  event.preventDefault();
  void open();
});
input.addEventListener('input', search);
dialog.addEventListener('keydown', (event) => {
  if (event.isComposing) return; // the input method uses these keys
  if (event.key === 'ArrowDown') moveFocus(1);
  else if (event.key === 'ArrowUp') moveFocus(-1);
  else if (event.key === 'Escape')
    dialog.close(); // rather than only empty the field
  else if (event.key === 'Enter' && event.target === input) list.querySelector('a')?.click();
  else return;
  event.preventDefault();
});
dialog.addEventListener('click', (event) => {
  // A click outside closes the dialog, and one on a result, which may be on this page.
  if (event.target === dialog || (event.target instanceof Element && event.target.closest('a'))) dialog.close();
});
