import { STATUS_CODES } from 'node:http';
import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { escapeHtml } from '../html.ts';
import { codeBlock } from '../site/highlight.ts';
import type { Site } from '../site/site.ts';
import { operationLink, REFERENCE_PATHS } from '../site/site-paths.ts';

/** The facts of an error code from the catalogue and the documents, in HTML: its status, its operations, its body. */
export function describeErrorCode(code: ErrorCode, path: string, { interfaces }: Site): string {
  const { status, trpcCode, message } = ERROR_CATALOGUE[code];
  const lists = REFERENCE_PATHS.map((reference) => {
    const operations = interfaces[reference.version].operations.filter(({ errorCodes }) => errorCodes.has(code));
    const links = operations.map(
      (operation) => `<a href="${operationLink(path, reference, operation)}">${escapeHtml(operation.summary)}</a>`,
    );
    return links.length === 0 ? '' : `${reference.version}: ${links.join(', ')}`;
  }).filter((list) => list !== '');
  const isRest = lists.length > 0;
  const facts: readonly (readonly [string, string])[] = [
    ['Status', `<code>${status}</code> ${STATUS_CODES[status] ?? ''}`],
    ['Sent over', isRest ? 'REST and tRPC' : 'tRPC only'],
    [
      'tRPC',
      `<code>error.data.code</code> is <code>${trpcCode}</code>, <code>error.data.errorCode</code> is <code>${code}</code>`,
    ],
    ['Documented for', lists.join('<br>')],
  ];
  const rows = facts
    .filter(([name]) => isRest || name !== 'Documented for')
    .map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`);
  const list = `<dl class="facts">${rows.join('')}</dl>`;
  if (!isRest) return list;
  const example = JSON.stringify({ code, message, status }, undefined, 2);
  return `${list}\n${codeBlock(example, 'json')}`;
}
