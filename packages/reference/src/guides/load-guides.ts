import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { ERRORS_PATH, REFERENCE_PATH } from '../site/site-paths.ts';

/** A page written in Markdown. */
export interface Guide {
  /** Path of the file below `docs`, with forward slashes. */
  readonly source: string;
  readonly path: string;
  /** The text of its first heading. */
  readonly title: string;
  /** One or two sentences, in Markdown. */
  readonly summary: string;
  readonly markdown: string;
}

/** The page of an error code. */
export interface ErrorGuide extends Guide {
  readonly code: ErrorCode;
}

export interface Guides {
  /** In the order in which they are listed. */
  readonly guides: readonly Guide[];
  /** One for each code of the catalogue, in its order. */
  readonly errors: readonly ErrorGuide[];
}

const FOLDER = join(import.meta.dirname, '../../../../docs');

const GUIDES: readonly Pick<Guide, 'path' | 'source' | 'summary'>[] = [
  {
    path: `${REFERENCE_PATH}/five-minutes-rest`,
    source: 'guides/five-minutes-rest.md',
    summary: 'From a key to the first order cancelled, with curl, and with the client for JavaScript and TypeScript.',
  },
  {
    path: `${REFERENCE_PATH}/five-minutes-trpc`,
    source: 'guides/five-minutes-trpc.md',
    summary: 'For internal TypeScript services: place, ship, complete and cancel orders, with types.',
  },
  {
    path: `${REFERENCE_PATH}/follow-orders`,
    source: 'guides/follow-orders.md',
    summary: 'For internal TypeScript services: to receive every change of an order, in place of polling.',
  },
  {
    path: `${REFERENCE_PATH}/authentication`,
    source: 'guides/authentication.md',
    summary:
      'Every request carries an API key as bearer token. How to get one, send it, store it and replace it, and what the response to a refused one is.',
  },
  {
    path: ERRORS_PATH,
    source: 'errors.md',
    summary:
      'Every error response has `code`, `message` and `status`. All codes, what each means and what to do, one page for each.',
  },
  {
    path: `${REFERENCE_PATH}/limits`,
    source: 'guides/limits.md',
    summary:
      'Each plan allows a number of requests a minute and a day. What the headers of a response mean, how to back off, and what leads to a ban.',
  },
  {
    path: `${REFERENCE_PATH}/64-bit-ids`,
    source: 'guides/64-bit-ids.md',
    summary:
      'Ids have 64 bits, and many JSON parsers round them. What to do in JavaScript, Python, Go, Java, C# and other languages.',
  },
  {
    path: `${REFERENCE_PATH}/client-tools`,
    source: 'guides/client-tools.md',
    summary:
      'openapi-typescript, hey-api, orval, Postman, Prism and others on this service: what works, how ids fare, which options to set.',
  },
  {
    path: `${REFERENCE_PATH}/versions`,
    source: 'guides/versions.md',
    summary:
      'What may change within v1 and what may not, how stable an operation is, and how the end of one is announced.',
  },
  {
    path: `${REFERENCE_PATH}/v2-preview`,
    source: 'guides/v2-preview.md',
    summary: 'Orders by pages and with filters, to try: an experiment, beside v1, which stays as it is.',
  },
  {
    path: `${REFERENCE_PATH}/changelog`,
    source: 'guides/changelog.md',
    summary: 'What each release of the API changed.',
  },
];

/** Addresses of the service in the texts, which are those of no installation. */
const EXAMPLES = /http:\/\/127\.0\.0\.1:3000|https:\/\/api\.petstore\.example/g;

/**
 * @param root what the installation is below, which takes the place of the addresses in the texts
 * @throws Error when a text is missing, or does not begin with a heading
 */
export function loadGuides(root: string): Guides {
  const loadText = (source: string) => readText(source, root);
  return {
    guides: GUIDES.map(({ path, source, summary }) => ({ ...loadText(source), path, source, summary })),
    errors: Object.entries(ERROR_CATALOGUE).map(([code, { message }]) => {
      const source = `guides/errors/${code}.md`;
      // The keys are those of the catalogue.
      return { ...loadText(source), code: code as ErrorCode, path: `${ERRORS_PATH}/${code}`, source, summary: message };
    }),
  };
}

function readText(source: string, root: string): Pick<Guide, 'title' | 'markdown'> {
  const markdown = readFileSync(join(FOLDER, source), 'utf8').replaceAll(EXAMPLES, root);
  const title = /^# (.+)\n/.exec(markdown)?.[1];
  if (title === undefined) throw new Error(`docs/${source} must begin with a heading.`);
  return { title, markdown };
}
