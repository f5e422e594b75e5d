import { type ApiVersion, DOCUMENTED_VERSIONS } from '@petstore/api';
import type { DescribedOperation } from '../interface/describe-interface.ts';

/** The path of the reference of v1. */
export const REFERENCE_PATH = '/docs';
/** The path of the guide to errors; each code has a page below it. */
export const ERRORS_PATH = `${REFERENCE_PATH}/errors`;
/** The path of the guide to keys. */
export const AUTHENTICATION_PATH = `${REFERENCE_PATH}/authentication`;
/** The path of the entries of search. They are a module, loaded beside the library. */
export const SEARCH_ENTRIES_PATH = `${REFERENCE_PATH}/search-entries.js`;

/** A version of the API, and its paths. */
export interface ReferencePath {
  readonly version: ApiVersion;
  /** The path of its reference. */
  readonly path: string;
  /** The path of its OpenAPI document. */
  readonly documentPath: string;
  /** The path below which its operations are. */
  readonly basePath: string;
}

export const REFERENCE_PATHS: readonly ReferencePath[] = DOCUMENTED_VERSIONS.map(({ version, referencePath }) => ({
  version,
  path: referencePath,
  documentPath: `/${version}/openapi.json`,
  basePath: `/${version}`,
}));

/** A relative link from one absolute path to another, which also works behind a proxy that adds a path prefix. */
export const relativeLink = (from: string, to: string): string =>
  '../'.repeat(from.split('/').length - 2) + to.slice(1);

/** A link to an operation in the reference. */
export const operationLink = (from: string, { path }: ReferencePath, { operationId }: DescribedOperation): string =>
  `${relativeLink(from, path)}#${operationId}`;
