import { STATUS_CODES } from 'node:http';
import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { escapeHtml } from '../html.ts';
import type { DescribedInterface } from '../interface/describe-interface.ts';
import { codeBlock } from '../site/highlight.ts';
import { operationLink } from '../site/site-paths.ts';

/** The facts of an error code from the catalogue and the document, in HTML: its status, its operations, its body. */
export function describeErrorCode(code: ErrorCode, path: string, about: DescribedInterface): string {
  const { status, trpcCode, message } = ERROR_CATALOGUE[code];
  const operations = about.operations.filter(({ errorCodes }) => errorCodes.has(code));
  const isRest = operations.length > 0;
  const links = operations.map(
    (operation) => `<a href="${operationLink(path, operation)}">${escapeHtml(operation.summary)}</a>`,
  );
  const facts: readonly (readonly [string, string])[] = [
    ['Status', `<code>${status}</code> ${STATUS_CODES[status] ?? ''}`],
    ['Sent over', isRest ? 'REST and tRPC' : 'tRPC only'],
    [
      'tRPC',
      `<code>error.data.code</code> is <code>${trpcCode}</code>, <code>error.data.errorCode</code> is <code>${code}</code>`,
    ],
    ['Documented for', links.join(', ')],
  ];
  const rows = facts
    .filter(([name]) => isRest || name !== 'Documented for')
    .map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`);
  const list = `<dl class="facts">${rows.join('')}</dl>`;
  if (!isRest) return list;
  const example = JSON.stringify({ code, message, status }, undefined, 2);
  return `${list}\n${codeBlock(example, 'json')}`;
}
