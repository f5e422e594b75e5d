import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { basename, dirname, posix } from 'node:path';
import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { fence, table } from './markdown.ts';
import { errorCodesOf } from './open-api.ts';
import { type DocumentedVersion, ERRORS_PATH, type Page, REFERENCE_PATH } from './site.ts';

interface Guide {
  /** The path below `docs`. */
  readonly source: string;
  readonly file: URL;
  /** What it is about, in Markdown. Search ranks its words high: it holds what people look for under other names. */
  readonly subject: string;
}

/** Its sections on single codes are pages of their own. */
const ERRORS: Guide = {
  source: 'errors.md',
  file: new URL('../../../docs/errors.md', import.meta.url),
  subject:
    'Every error response has `code`, `message` and `status`. All codes, what each means and what to do, one page for each.',
};

/** In the order of their list. Each file is named whole, where it is: the bundler takes it along. */
const GUIDES: readonly Guide[] = [
  {
    source: 'guides/five-minutes-rest.md',
    file: new URL('../../../docs/guides/five-minutes-rest.md', import.meta.url),
    subject:
      'From an API key to the first order cancelled, with curl, and with the client library (SDK) for JavaScript and TypeScript.',
  },
  {
    source: 'guides/five-minutes-trpc.md',
    file: new URL('../../../docs/guides/five-minutes-trpc.md', import.meta.url),
    subject: 'For internal TypeScript services: place, ship, complete and cancel orders with a typed client.',
  },
  {
    source: 'guides/follow-orders.md',
    file: new URL('../../../docs/guides/follow-orders.md', import.meta.url),
    subject:
      'Every change of an order: ask and wait for it (long polling), with curl or the client, or make webhooks of it.',
  },
  {
    source: 'guides/authentication.md',
    file: new URL('../../../docs/guides/authentication.md', import.meta.url),
    subject:
      'Every request carries an API key as bearer token. There are no other credentials, and no login. How to get a key, send it, store it and replace it, and what the response to a refused one is.',
  },
  ERRORS,
  {
    source: 'guides/limits.md',
    file: new URL('../../../docs/guides/limits.md', import.meta.url),
    subject:
      'Rate limits and throttling: each plan has a quota of requests a minute and a day. What the headers of a response mean, how to back off, and what leads to a ban.',
  },
  {
    source: 'guides/64-bit-ids.md',
    file: new URL('../../../docs/guides/64-bit-ids.md', import.meta.url),
    subject:
      'Ids have 64 bits (int64), and many JSON parsers lose their precision. What to do in JavaScript, Python, Go (Golang), Java, C# and other languages.',
  },
  {
    source: 'guides/client-tools.md',
    file: new URL('../../../docs/guides/client-tools.md', import.meta.url),
    subject:
      'Code generators (codegen) from OpenAPI: openapi-typescript and openapi-fetch step by step, and how other tools (hey-api, orval, Postman, Prism) keep ids exact.',
  },
  {
    source: 'guides/versions.md',
    file: new URL('../../../docs/guides/versions.md', import.meta.url),
    subject:
      'Compatibility: what may change within v1 and what may not, how stable an operation is, and how the end of one is announced.',
  },
  {
    source: 'guides/v2-preview.md',
    file: new URL('../../../docs/guides/v2-preview.md', import.meta.url),
    subject: 'Orders by pages (pagination) and with filters, to try: an experiment, beside v1, which stays as it is.',
  },
  {
    source: 'guides/changelog.md',
    file: new URL('../../../docs/guides/changelog.md', import.meta.url),
    subject: 'Release notes: what each release of the API changed.',
  },
];
const ERROR_CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[]; // the keys are those of the catalogue

/** The path of each guide, by its file below `docs`. */
const PATHS: ReadonlyMap<string, string> = new Map(
  GUIDES.map(({ source }) => [source, `${REFERENCE_PATH}/${basename(source, '.md')}`]),
);

/** Example addresses of the service in the texts. */
const EXAMPLES = /http:\/\/127\.0\.0\.1:3000|https:\/\/api\.petstore\.example/g;

/** @throws Error if the text is missing, or links to a file below `docs` without a page */
const readText = ({ source, file }: Guide, root: string): string =>
  linkPages(readFileSync(file, 'utf8').replaceAll(EXAMPLES, root), source);

/** @returns the text before the sections on single codes, and those by their code */
function splitErrors(markdown: string): { readonly guide: string; readonly adviceOn: ReadonlyMap<string, string> } {
  const [guide = '', ...parts] = markdown.split(/^## `(\w+)`\n/m);
  const adviceOn = new Map<string, string>();
  for (let i = 0; i < parts.length; i += 2) adviceOn.set(parts[i] ?? '', parts[i + 1] ?? '');
  // The name of a code leads to its page wherever it is rendered.
  return { guide: guide.replaceAll(/\[(`\w+`)\]\(#\w+\)/g, '$1'), adviceOn };
}

/** Turns links to files into links to their pages. Of a link to a source file, which readers do not have, the text stays. */
const linkPages = (markdown: string, source: string): string =>
  markdown.replaceAll(
    /\[([^\]]*)\]\((?!https:)([^)#\s]+\.md)(#[^)]*)?\)/g,
    (_, text: string, file: string, fragment = '') => {
      const target = posix.join(dirname(source), file);
      const path = PATHS.get(target);
      if (path !== undefined) return `[${text}](${path}${fragment})`;
      if (target.startsWith('../')) return text;
      throw new Error(`docs/${source} links to docs/${target}, which is no page.`);
    },
  );

/**
 * @param root the address of the installation, which replaces those in the texts
 * @throws Error if a text is missing, does not begin with a heading, or links to a file below `docs` without a page
 */
export const loadGuides = (root: string): readonly Page[] =>
  GUIDES.map((guide) => {
    const text = readText(guide, root);
    const markdown = guide === ERRORS ? splitErrors(text).guide : text;
    const title = /^# (.+)\n/.exec(markdown)?.[1];
    if (title === undefined) throw new Error(`docs/${guide.source} must begin with a heading.`);
    return { path: PATHS.get(guide.source) ?? '', title, summary: guide.subject, markdown };
  });

/**
 * The pages of error codes: facts from the catalogue and the documents, followed by advice.
 *
 * @throws Error if there is no advice on a code
 */
export function loadErrorPages(root: string, versions: readonly DocumentedVersion[]): readonly Page[] {
  const { adviceOn } = splitErrors(readText(ERRORS, root));
  return ERROR_CODES.map((code) => {
    const advice = adviceOn.get(code)?.replaceAll(/^### /gm, '## ');
    if (advice === undefined) throw new Error(`docs/${ERRORS.source} has no section on ${code}.`);
    return {
      path: `${ERRORS_PATH}/${code}`,
      title: code,
      summary: ERROR_CATALOGUE[code].message,
      markdown: `# \`${code}\`\n\n${factsOf(code, versions)}\n\n## What happened\n${advice}`,
      code,
    };
  });
}

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
