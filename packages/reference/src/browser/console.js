// The console: each operation can be sent to the server of the page, and to no other. The key that is entered is in this
// page's fields alone, and is removed when the page is left.

import { formatJson } from './format-json.js';

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const baseUrl = new URL(main.dataset['base'] ?? '', location.href).href;
const errorsUrl = main.dataset['errors'] ?? '';
/** A list may be long; this much of it is shown. */
const MAX_SHOWN_CHARACTERS = 200_000;

/** @type {NodeListOf<HTMLInputElement>} */
const keyFields = document.querySelectorAll('input[data-key]');

/** @param {string} key */
function enterKey(key) {
  for (const field of keyFields) if (field.value !== key) field.value = key;
}
for (const field of keyFields) field.addEventListener('input', () => enterKey(field.value));
addEventListener('pagehide', () => enterKey(''));

/** @type {NodeListOf<HTMLButtonElement>} */
const buttons = document.querySelectorAll('button.try');
for (const button of buttons) {
  const form = document.getElementById(button.getAttribute('aria-controls') ?? '');
  if (form instanceof HTMLFormElement) setUp(button, form);
}

/** @param {HTMLButtonElement} button @param {HTMLFormElement} form */
function setUp(button, form) {
  button.hidden = false;
  button.addEventListener('click', () => {
    form.hidden = !form.hidden;
    button.setAttribute('aria-expanded', String(!form.hidden));
    const fields = Array.from(form.querySelectorAll('input'));
    if (!form.hidden) (fields.find(({ value }) => value === '') ?? fields[0])?.focus();
  });
  const shown = Array.from(form.closest('.example')?.querySelectorAll('[data-url]') ?? []);
  const examples = shown.map(({ textContent }) => textContent ?? '');
  form.addEventListener('input', () => {
    const url = urlOf(form);
    for (const [index, element] of shown.entries()) element.textContent = url ?? examples[index] ?? '';
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
}

/** @param {HTMLFormElement} form @returns {string | undefined} undefined while nothing is entered, or a path lacks a part */
function urlOf(form) {
  let url = baseUrl + form.dataset['path'];
  const query = new URLSearchParams();
  /** @type {NodeListOf<HTMLInputElement | HTMLSelectElement>} */
  const fields = form.querySelectorAll('[data-parameter]');
  let isEmpty = true;
  for (const field of fields) {
    const { parameter = '', in: place } = field.dataset;
    for (const value of valuesOf(field)) {
      isEmpty = false;
      if (place === 'path') url = url.replace(`{${parameter}}`, encodeText(value));
      else query.append(parameter, value);
    }
  }
  if (isEmpty || url.includes('{')) return undefined;
  return query.size === 0 ? url : `${url}?${query}`;
}

/** @param {HTMLInputElement | HTMLSelectElement} field */
function valuesOf(field) {
  const values =
    field instanceof HTMLSelectElement ? Array.from(field.selectedOptions, ({ value }) => value) : [field.value];
  return values.map((value) => value.trim()).filter((value) => value !== '');
}

/** For a URL that may be quoted in a shell. @param {string} text */
const encodeText = (text) => encodeURIComponent(text).replaceAll("'", '%27');

/** @param {HTMLFormElement} form */
async function send(form) {
  const button = /** @type {HTMLButtonElement} */ (form.querySelector('[type=submit]'));
  if (button.ariaDisabled === 'true') return;
  // A button that is disabled would lose the focus.
  button.ariaDisabled = 'true';
  const outcome = /** @type {HTMLElement} */ (form.querySelector('.outcome'));
  const status = element('p', 'Sending …');
  status.setAttribute('role', 'status');
  outcome.replaceChildren(status);
  const key = form.querySelector('input')?.value.trim() ?? '';
  const startedAtMs = performance.now();
  try {
    const response = await fetch(urlOf(form) ?? baseUrl + form.dataset['path'], {
      method: form.dataset['method'] ?? 'GET',
      headers: key === '' ? {} : { Authorization: `Bearer ${key}` },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
    const text = await response.text();
    const name = `${response.status} ${response.statusText}`;
    const mark = element('span', name.trim(), `status status-${String(response.status).charAt(0)}`);
    status.replaceChildren(mark, ` in ${Math.round(performance.now() - startedAtMs)} ms`);
    outcome.append(...explain(response, text), ...describeBody(text), describeHeaders(response));
  } catch (error) {
    status.replaceChildren(`The request failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    button.ariaDisabled = null;
  }
}

/** A link to the page of an error. @param {Response} response @param {string} text */
function explain(response, text) {
  const [, code] = /^\{"code":"(\w+)"/.exec(text) ?? [];
  if (response.ok || code === undefined) return [];
  const link = element('a', 'What it means, and what to do: ');
  /** @type {HTMLAnchorElement} */ (link).href = `${errorsUrl}/${code}`;
  link.append(element('code', code));
  const paragraph = element('p', '');
  paragraph.append(link);
  return [paragraph];
}

/** @param {string} text */
function describeBody(text) {
  if (text === '') return [];
  const isCut = text.length > MAX_SHOWN_CHARACTERS;
  const block = element('pre', '', 'wraps');
  block.tabIndex = 0;
  block.role = 'group'; // may have a name
  block.setAttribute('aria-label', 'Body of the response');
  block.append(element('code', isCut ? text.slice(0, MAX_SHOWN_CHARACTERS) : formatJson(text)));
  if (!isCut) return [block];
  const shown = `The first ${MAX_SHOWN_CHARACTERS.toLocaleString('en')} of ${text.length.toLocaleString('en')} characters:`;
  return [element('p', shown, 'note'), block];
}

/** @param {Response} response */
function describeHeaders({ headers }) {
  const list = element('dl', '', 'headers');
  for (const [name, value] of headers) {
    const row = element('div', '');
    row.append(element('dt', name), ' ', element('dd', value));
    list.append(row);
  }
  const details = /** @type {HTMLDetailsElement} */ (element('details', ''));
  details.append(element('summary', 'Headers of the response'), list);
  details.open = true;
  return details;
}

/** @param {string} name @param {string} text @param {string} [className] */
function element(name, text, className = '') {
  const created = document.createElement(name);
  created.textContent = text;
  created.className = className;
  return created;
}
