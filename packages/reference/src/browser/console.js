// The console sends operations to the page's own server only. The key that is entered exists only in the fields of this
// page, and is removed when the page is left.

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const baseUrl = new URL(main.dataset['base'] ?? '', location.href).href;
/** A list may be long; no more than this is shown. */
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
  const form = /** @type {HTMLFormElement} */ (document.getElementById(button.getAttribute('aria-controls') ?? ''));
  button.hidden = false;
  button.addEventListener('click', () => {
    form.hidden = !form.hidden;
    button.ariaExpanded = String(!form.hidden);
    const fields = Array.from(form.querySelectorAll('input'));
    if (!form.hidden) (fields.find(({ value }) => value === '') ?? fields[0])?.focus();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
  // Samples of operations that change something do not get a real id.
  if (form.dataset['method'] === 'GET') showUrlInSamples(form);
}

/** Updates the URL of the samples with the fields. @param {HTMLFormElement} form */
function showUrlInSamples(form) {
  const texts = document.createTreeWalker(form.parentElement ?? form, NodeFilter.SHOW_TEXT);
  /** @type {{ node: Node, example: string }[]} */
  const shown = [];
  while (texts.nextNode()) {
    const example = texts.currentNode.nodeValue ?? '';
    if (/^'https?:/.test(example)) shown.push({ node: texts.currentNode, example });
  }
  form.addEventListener('input', () => {
    const url = urlOf(form);
    for (const { node, example } of shown) node.nodeValue = url === undefined ? example : `'${url}'`;
  });
}

/** @param {HTMLFormElement} form @returns {string | undefined} undefined while all fields or a part of the path are empty */
function urlOf(form) {
  const entered = Array.from(new FormData(form), ([name, value]) => [name, String(value).trim()]);
  const query = new URLSearchParams();
  let url = baseUrl + form.dataset['path'];
  for (const [name = '', value = ''] of entered.filter(([, text]) => text !== '')) {
    // The URL may be quoted in a shell.
    if (url.includes(`{${name}}`)) url = url.replace(`{${name}}`, encodeURIComponent(value).replaceAll("'", '%27'));
    else query.append(name, value);
  }
  if (url.includes('{') || entered.every(([, text]) => text === '')) return undefined;
  return query.size === 0 ? url : `${url}?${query}`;
}

/** @param {HTMLFormElement} form @returns {Record<string, string>} the headers that were entered */
function headersOf(form) {
  /** @type {NodeListOf<HTMLInputElement>} */
  const fields = form.querySelectorAll('input[data-header]');
  const entered = Array.from(fields, (field) => [field.dataset['header'] ?? '', field.value.trim()]);
  return Object.fromEntries(entered.filter(([, value]) => value !== ''));
}

/** @param {HTMLFormElement} form */
async function send(form) {
  const button = /** @type {HTMLButtonElement} */ (form.querySelector('[type=submit]'));
  if (button.ariaDisabled === 'true') return;
  // A disabled button would lose the focus.
  button.ariaDisabled = 'true';
  const outcome = /** @type {HTMLElement} */ (form.querySelector('.outcome'));
  const status = element('p', 'Sending …');
  status.role = 'status';
  outcome.replaceChildren(status);
  const key = form.querySelector('input')?.value.trim() ?? '';
  const startedAtMs = performance.now();
  try {
    const response = await fetch(urlOf(form) ?? baseUrl + form.dataset['path'], {
      method: form.dataset['method'] ?? 'GET',
      headers: { ...headersOf(form), ...(key !== '' && { Authorization: `Bearer ${key}` }) },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
    const text = await response.text();
    const mark = element(
      'b',
      `${response.status} ${response.statusText}`.trim(),
      `status-${String(response.status)[0]}`,
    );
    status.replaceChildren(mark, ` in ${Math.round(performance.now() - startedAtMs)} ms`);
    outcome.append(...linkToError(response, text), ...showBody(text), showHeaders(response));
  } catch (error) {
    status.replaceChildren(`The request failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    button.ariaDisabled = null;
  }
}

/** @param {Response} response @param {string} text */
function linkToError(response, text) {
  const [, code] = /^\{"code":"(\w+)"/.exec(text) ?? [];
  if (response.ok || code === undefined) return [];
  const link = /** @type {HTMLAnchorElement} */ (element('a', 'What it means, and what to do: '));
  link.href = `${main.dataset['errors']}/${code}`;
  link.append(element('code', code));
  const paragraph = element('p', '');
  paragraph.append(link);
  return [paragraph];
}

/** @param {string} text */
function showBody(text) {
  if (text === '') return [];
  const rest = `\n… (${text.length.toLocaleString('en')} characters)`;
  const block = showCode(
    text.length > MAX_SHOWN_CHARACTERS ? text.slice(0, MAX_SHOWN_CHARACTERS) + rest : formatJson(text),
  );
  block.tabIndex = 0;
  block.role = 'group'; // a role that may have a name
  block.ariaLabel = 'Body of the response';
  return [block];
}

/** @typedef {(key: string, value: unknown, context: { source: string }) => unknown} ExactReviver */

/**
 * JSON with line breaks, and with each number as it was sent: ids have more digits than JavaScript's numbers. A browser
 * without support for this shows the text unchanged.
 *
 * @param {string} text
 */
function formatJson(text) {
  try {
    /** @type {ExactReviver} */
    const keepDigits = (_, value, { source }) =>
      typeof value === 'number' ? /** @type {any} */ (JSON).rawJSON(source) : value;
    // TypeScript's libraries know neither the third parameter nor rawJSON yet.
    return JSON.stringify(JSON.parse(text, /** @type {any} */ (keepDigits)), undefined, 2);
  } catch {
    return text;
  }
}

/** @param {Response} response */
function showHeaders({ headers }) {
  const details = document.createElement('details');
  const lines = Array.from(headers, ([name, value]) => `${name} ${value}`);
  details.append(element('summary', 'Headers of the response'), showCode(lines.join('\n')));
  details.open = true;
  return details;
}

/** @param {string} code */
function showCode(code) {
  const block = element('pre', '', 'wraps');
  block.append(element('code', code));
  return block;
}

/** @param {string} name @param {string} text @param {string} [className] */
function element(name, text, className = '') {
  return Object.assign(document.createElement(name), { textContent: text, className });
}
