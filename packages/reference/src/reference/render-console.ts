import { escapeHtml } from '../html.ts';
import type { DescribedOperation, DescribedParameter } from '../interface/describe-interface.ts';
import { AUTHENTICATION_PATH, relativeLink } from '../site/site-paths.ts';
import type { ReferenceContext } from './reference-context.ts';

/** The form that sends the operation to this server; console.js shows it, and makes it work. */
export function renderConsole(operation: DescribedOperation, { path }: ReferenceContext): string {
  const { operationId, method, summary, parameters } = operation;
  const id = `${operationId}-console`;
  const isDangerous = method !== 'GET';
  return `<button class="button try" type="button" aria-expanded="false" aria-controls="${id}" aria-label="Try it: ${escapeHtml(summary)}" hidden>Try it</button>
<form class="card console" id="${id}" data-method="${method}" data-path="${escapeHtml(operation.path)}" aria-label="Try it: ${escapeHtml(summary)}" autocomplete="off" hidden>
<label>API key
<input class="secret" data-key type="text" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="pso_live_… or pso_test_…" aria-describedby="${id}-key"></label>
<p class="note" id="${id}-key">Stays in the memory of this page. <a href="${relativeLink(path, AUTHENTICATION_PATH)}#get-a-key">Where keys come from</a></p>
${parameters.map((parameter) => renderInput(parameter, id, isDangerous)).join('\n')}
<button class="button primary${isDangerous ? ' danger' : ''}" type="submit">Send ${method}</button>
<div class="outcome"></div>
</form>`;
}

/** Examples are suggested for what reads, never for what changes something. */
function renderInput(parameter: DescribedParameter, formId: string, isDangerous: boolean): string {
  const { name, place, type, isRequired, isRepeatable, values, examples } = parameter;
  const id = `${formId}-${name}`;
  const attributes = `id="${id}" data-parameter="${name}" data-in="${place}"${isRequired ? ' required' : ''}`;
  const about = `<label for="${id}"><code>${name}</code> <span class="type">${escapeHtml(type)}</span></label>`;
  if (values.length > 0) {
    const options = values.map((value) => `<option>${escapeHtml(value)}</option>`).join('');
    const several = isRepeatable ? ` multiple size="${values.length}"` : '';
    return `${about}\n<select ${attributes}${several}>${isRepeatable ? '' : '<option></option>'}${options}</select>`;
  }
  const isInteger = type.startsWith('integer') ? ' inputmode="numeric"' : '';
  const example = examples[0] === undefined || isDangerous ? '' : ` placeholder="${escapeHtml(examples[0])}"`;
  return `${about}\n<input ${attributes} type="text"${isInteger}${example} autocomplete="off" spellcheck="false">`;
}
