// The console sends operations to the page's own server only. The key that is entered exists only in the fields of this
// page, and is removed when the page is left.

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
}

/** The URL with what is entered. The browser insists on the fields of the path. @param {HTMLFormElement} form */
function urlOf(form) {
  const query = new URLSearchParams();
  let path = form.dataset['path'] ?? '';
  for (const [name, entered] of new FormData(form)) {
    const value = String(entered).trim();
    if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '') query.append(name, value);
  }
  return query.size === 0 ? path : `${path}?${query}`;
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
    const response = await fetch(urlOf(form), {
      method: form.dataset['method'] ?? 'GET',
      headers: key === '' ? {} : { Authorization: `Bearer ${key}` },
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
  link.href = `docs/errors/${code}`;
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
