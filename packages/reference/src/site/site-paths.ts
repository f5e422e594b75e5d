import type { InterfaceOperation } from './interface-operations.ts';

/** Where the reference is read. */
export const REFERENCE_PATH = '/docs';
/** The guide to errors; below it is a page for each code. */
export const ERRORS_PATH = `${REFERENCE_PATH}/errors`;
/** Where the OpenAPI document is. */
export const DOCUMENT_PATH = '/v1/openapi.json';
/** What the document's paths are below. */
export const BASE_PATH = '/v1';

/**
 * A link from one page to another, both absolute paths. It is relative, so that it holds behind a proxy that serves us
 * under a path of its own.
 */
export const relativeLink = (from: string, to: string): string =>
  '../'.repeat(from.split('/').length - 2) + to.slice(1);

/** The link to an operation within the reference. */
export const operationLink = (from: string, { operationId }: InterfaceOperation): string =>
  `${relativeLink(from, REFERENCE_PATH)}#${operationId}`;
