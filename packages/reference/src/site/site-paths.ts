import type { ApiVersion } from '@petstore/api';
import type { InterfaceOperation } from './interface-operations.ts';

/** Where the reference is read. */
export const REFERENCE_PATH = '/docs';
/** The guide to errors; below it is a page for each code. */
export const ERRORS_PATH = `${REFERENCE_PATH}/errors`;
/** What search finds, as a module: the policy of the guides lets scripts be loaded, and nothing else. */
export const SEARCH_ENTRIES_PATH = `${REFERENCE_PATH}/search-entries.js`;

/** A version of the interface, and where it is shown. */
export interface ReferencePath {
  readonly version: ApiVersion;
  /** Where its reference is read. */
  readonly path: string;
  /** Where its OpenAPI document is. */
  readonly documentPath: string;
  /** What the document's paths are below. */
  readonly basePath: string;
  /** The entry of the header. */
  readonly name: string;
  /** Said behind the title of the page. */
  readonly suffix?: string;
}

export const REFERENCE_PATHS: readonly ReferencePath[] = [
  { version: 'v1', path: REFERENCE_PATH, documentPath: '/v1/openapi.json', basePath: '/v1', name: 'Reference' },
  {
    version: 'v2',
    path: `${REFERENCE_PATH}/v2`,
    documentPath: '/v2/openapi.json',
    basePath: '/v2',
    name: 'v2 reference',
    suffix: 'v2 preview',
  },
];

/**
 * A link from one page to another, both absolute paths. It is relative, so that it holds behind a proxy that serves us
 * under a path of its own.
 */
export const relativeLink = (from: string, to: string): string =>
  '../'.repeat(from.split('/').length - 2) + to.slice(1);

/** The link to an operation within the reference. */
export const operationLink = (from: string, { operationId }: InterfaceOperation): string =>
  `${relativeLink(from, REFERENCE_PATH)}#${operationId}`;
