import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { errorCodesOf } from './open-api.ts';
import { type DocumentedVersion, ERRORS_PATH, type Page, REFERENCE_PATH } from './site.ts';
import { fence, table } from './write-markdown.ts';

/** The guides in the order of their list: their files below `docs`, and their subjects. */
const GUIDES: Readonly<Record<string, string>> = {
  'guides/five-minutes-rest.md':
    'From a key to the first order cancelled, with curl, and with the client for JavaScript and TypeScript.',
  'guides/five-minutes-trpc.md':
    'For internal TypeScript services: place, ship, complete and cancel orders, with types.',
  'guides/follow-orders.md':
    'For internal TypeScript services: to receive every change of an order, in place of polling.',
  'guides/authentication.md':
    'Every request carries an API key as bearer token. How to get one, send it, store it and replace it, and what the response to a refused one is.',
  'errors.md':
    'Every error response has `code`, `message` and `status`. All codes, what each means and what to do, one page for each.',
  'guides/limits.md':
    'Each plan allows a number of requests a minute and a day. What the headers of a response mean, how to back off, and what leads to a ban.',
  'guides/64-bit-ids.md':
    'Ids have 64 bits, and many JSON parsers round them. What to do in JavaScript, Python, Go, Java, C# and other languages.',
  'guides/client-tools.md':
    'openapi-typescript, hey-api, orval, Postman, Prism and others on this service: what works, how ids fare, which options to set.',
  'guides/versions.md':
    'What may change within v1 and what may not, how stable an operation is, and how the end of one is announced.',
  'guides/v2-preview.md': 'Orders by pages and with filters, to try: an experiment, beside v1, which stays as it is.',
  'guides/changelog.md': 'What each release of the API changed.',
};
const ERROR_CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[]; // the keys are those of the catalogue

const FOLDER = join(import.meta.dirname, '../../../docs');

/** The path of each page written in Markdown, by its file below `docs`. */
export const PATHS_BY_SOURCE: ReadonlyMap<string, string> = new Map([
  ...Object.keys(GUIDES).map((source): [string, string] => [source, `${REFERENCE_PATH}/${basename(source, '.md')}`]),
  ...ERROR_CODES.map((code): [string, string] => [`guides/errors/${code}.md`, `${ERRORS_PATH}/${code}`]),
]);

/** Example addresses of the service in the texts. */
const EXAMPLES = /http:\/\/127\.0\.0\.1:3000|https:\/\/api\.petstore\.example/g;

/** @throws Error if the text is missing, or does not begin with a heading */
function loadPage(source: string, summary: string, root: string): Page {
  const markdown = readFileSync(join(FOLDER, source), 'utf8').replaceAll(EXAMPLES, root);
  const title = /^# (.+)\n/.exec(markdown)?.[1];
  if (title === undefined) throw new Error(`docs/${source} must begin with a heading.`);
  return { path: PATHS_BY_SOURCE.get(source) ?? '', title, summary, markdown, folder: dirname(source) };
}

/**
 * @param root the address of the installation, which replaces those in the texts
 * @throws Error if a text is missing, or does not begin with a heading
 */
export const loadGuides = (root: string): readonly Page[] =>
  Object.entries(GUIDES).map(([source, summary]) => loadPage(source, summary, root));

/** The pages of error codes: facts from the catalogue and the documents, followed by advice. */
export const loadErrorPages = (root: string, versions: readonly DocumentedVersion[]): readonly Page[] =>
  ERROR_CODES.map((code) => {
    const page = loadPage(`guides/errors/${code}.md`, ERROR_CATALOGUE[code].message, root);
    const advice = page.markdown.slice(page.markdown.indexOf('\n'));
    return { ...page, code, markdown: `# \`${code}\`\n\n${factsOf(code, versions)}\n${advice}` };
  });

function factsOf(code: ErrorCode, versions: readonly DocumentedVersion[]): string {
  const { status, trpcCode, message } = ERROR_CATALOGUE[code];
  const lists = versions.flatMap(({ version, path, operations }) => {
    const links = operations
      .filter(({ responses }) => Object.values(responses).some((response) => errorCodesOf(response).includes(code)))
      .map(({ operationId, summary }) => `[${summary}](${path}#${operationId})`);
    return links.length === 0 ? [] : [`${version}: ${links.join(', ')}`];
  });
  const isRest = lists.length > 0;
  const facts = [
    ['Status', `\`${status}\` ${STATUS_CODES[status]}`],
    ['Sent over', isRest ? 'REST and tRPC' : 'tRPC only'],
    ['tRPC', `\`error.data.code\` is \`${trpcCode}\`, \`error.data.errorCode\` is \`${code}\``],
    ...(isRest ? [['Documented for', lists.join('<br>')]] : []),
  ];
  const example = isRest ? fence('json', JSON.stringify({ code, message, status }, undefined, 2)) : '';
  return `${table(['', ''], facts)}\n\n${example}`;
}
