/** @import MiniSearch from 'minisearch' */
/** @import { SearchEntry } from './search-entry.d.ts' */
/** @typedef {SearchEntry & { terms?: readonly string[] }} Found an entry, with the words in it that matched */

const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('search'));
const input = /** @type {HTMLInputElement} */ (dialog.querySelector('input'));
const list = /** @type {HTMLOListElement} */ (dialog.querySelector('ol'));
const status = /** @type {HTMLElement} */ (dialog.querySelector('[role=status]'));

const MAX_RESULTS = 12;
const EXCERPT_LENGTH = 110;

/** The search, loaded when it is first opened. @type {Promise<(query: string) => readonly Found[]> | undefined} */
let loading;

async function loadIndex() {
  const load = (/** @type {string} */ url) => import(new URL(url, import.meta.url).href);
  const [library, module] = await Promise.all([load('minisearch.js'), load('../../search-entries.js')]);
  /** @type {readonly SearchEntry[]} */
  const entries = module.entries;
  const index = new /** @type {typeof MiniSearch} */ (library.default)({
    idField: 'href',
    fields: ['title', 'section', 'summary', 'text'],
    storeFields: ['title', 'section', 'href', 'text', 'kind'],
    searchOptions: {
      combineWith: 'AND',
      prefix: true,
      // Two letters that changed places count as two mistakes.
      fuzzy: (term) => (term.length > 5 ? 2 : term.length > 3 ? 1 : false),
      weights: { fuzzy: 0.2, prefix: 0.5 },
      boost: { title: 4, summary: 3 },
      boostDocument: (_, __, { kind } = {}) => (kind === 'operation' ? 3 : 1),
    },
  });
  index.addAll(entries);
  return (/** @type {string} */ query) => {
    // The entries that most readers want, before anything is typed.
    if (query === '') return entries.filter(({ kind }) => kind !== undefined);
    const found = /** @type {Found[]} */ (/** @type {unknown} */ (index.search(query))); // the results contain the stored fields
    const isWanted = (/** @type {Found} */ { title, kind }) =>
      title.toLowerCase() === query || (kind === 'operation' && title.toLowerCase().includes(query));
    return found.toSorted((a, b) => Number(isWanted(b)) - Number(isWanted(a))); // stable: otherwise by score
  };
}

async function search() {
  const query = input.value.trim();
  try {
    loading ??= loadIndex();
    const find = await loading;
    if (query !== input.value.trim()) return; // a later input has its own search
    const results = find(query.toLowerCase()).slice(0, MAX_RESULTS);
    list.replaceChildren(...results.map(renderResult));
    status.textContent = results.length === 0 ? `Nothing found for “${query}”.` : '';
  } catch (error) {
    loading = undefined; // the next input tries again
    status.textContent = 'The search could not be loaded.';
    throw error;
  }
}

/** @param {Found} result */
function renderResult({ title, section, href, text, terms = [] }) {
  const link = document.createElement('a');
  link.href = href;
  const parts = { strong: title, span: section, small: excerpt(text, terms) };
  for (const [name, part] of Object.entries(parts)) {
    link.append(Object.assign(document.createElement(name), { textContent: part }));
  }
  const item = document.createElement('li');
  item.append(link);
  return item;
}

/** The text around the longest match. @param {string} text @param {readonly string[]} terms */
function excerpt(text, terms) {
  const longestFirst = terms.toSorted((a, b) => b.length - a.length);
  const match = longestFirst.map((term) => text.toLowerCase().indexOf(term)).find((found) => found >= 0) ?? 0;
  const start = match < EXCERPT_LENGTH / 2 ? 0 : text.indexOf(' ', match - EXCERPT_LENGTH / 3) + 1;
  const end = text.length <= start + EXCERPT_LENGTH ? text.length : text.lastIndexOf(' ', start + EXCERPT_LENGTH);
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`;
}

function open() {
  if (!dialog.open) dialog.showModal();
  input.select();
  void search();
}

document.getElementById('search-button')?.addEventListener('click', open);
addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.closest('input, select') !== null;
  // Autofill dispatches such events without a key.
  const isShortcut = event.key?.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
  if (!isShortcut && (event.key !== '/' || isTyping)) return;
  event.preventDefault();
  open();
});
input.addEventListener('input', search);
dialog.addEventListener('keydown', (event) => {
  if (event.isComposing) return; // the input method uses these keys
  // By itself, Escape would only empty the field.
  if (event.key === 'Escape') dialog.close();
  else if (event.key === 'Enter' && event.target === input) list.querySelector('a')?.click();
  else return;
  event.preventDefault();
});
dialog.addEventListener('click', (event) => {
  // Closes the dialog after a click outside it, or on a result, which may be on this page.
  if (event.target === dialog || (event.target instanceof Element && event.target.closest('a'))) dialog.close();
});
