import { escapeHtml } from './markdown.ts';
import { type Operation, type Parameter, typeOf } from './open-api.ts';
import { type DocumentedVersion, REFERENCE_PATH } from './site.ts';

/** The form that sends an operation to this server. console.js shows and handles it. */
export function renderConsole(
  { operationId, method, path, summary, parameters = [] }: Operation,
  { version }: DocumentedVersion,
): string {
  const id = `${operationId}-console`;
  const name = `Try it: ${escapeHtml(summary)}`;
  return `<button class="try" type="button" aria-expanded="false" aria-controls="${id}" aria-label="${name}" hidden>Try it</button>
<form id="${id}" data-method="${method}" data-path="${escapeHtml(version + path)}" aria-label="${name}" autocomplete="off" hidden>
<label>API key
<input class="secret" data-key type="text" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="pso_live_… or pso_demo_…" aria-describedby="${id}-key"></label>
<p id="${id}-key"><small>Stays in the memory of this page. <a href="${REFERENCE_PATH}/authentication#get-a-key">Where keys come from</a></small></p>
${parameters.map((parameter) => renderField(parameter, method === 'GET')).join('\n')}
<button type="submit">Send ${method}</button>
<div class="outcome"></div>
</form>`;
}

/** @param isSafe whether an example may be suggested: never for an operation that changes something */
function renderField({ name, schema, required = false, example }: Parameter, isSafe: boolean): string {
  const attributes = `name="${name}"${required ? ' required' : ''}`;
  const label = `<label><code>${name}</code> <small>${escapeHtml(typeOf(schema))}</small>`;
  if (schema.enum !== undefined) {
    const options = ['', ...schema.enum].map((value) => `<option>${escapeHtml(value)}</option>`).join('');
    return `${label}<select ${attributes}>${options}</select></label>`;
  }
  const suggestion = example === undefined || !isSafe ? '' : ` placeholder="${escapeHtml(String(example))}"`;
  const keyboard = schema.type === 'integer' ? ' inputmode="numeric"' : '';
  return `${label}<input ${attributes} type="text"${keyboard}${suggestion} autocomplete="off" spellcheck="false"></label>`;
}
