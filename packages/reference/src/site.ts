import { type ApiVersion, DOCUMENTED_VERSIONS, type ErrorCode } from '@petstore/api';
import type { Assets } from './assets.ts';
import { type OpenApiDocument, type Operation, operationsOf, resolveReferences } from './open-api.ts';

// All paths are relative to the root of the service, and begin without a slash. Pages use them as links, because the
// `<base>` of each page is the root: the site also works behind a proxy that serves it below a path of its own.

/** The path of the reference of v1; all other pages are below it. */
export const REFERENCE_PATH = 'docs';
/** The path of the guide to errors; each code has a page below it. */
export const ERRORS_PATH = `${REFERENCE_PATH}/errors`;

/** The root, relative to a path. */
export const rootFrom = (path: string): string => '../'.repeat(path.split('/').length - 1) || './';

/** A page of the site, written or generated as Markdown. */
export interface Page {
  /** Empty for what has no address of its own: then no link leads into the page itself. */
  readonly path: string;
  readonly title: string;
  /** One or two sentences, in Markdown. */
  readonly summary: string;
  /** Its links are paths of the site. */
  readonly markdown: string;
  /** The error code that the page describes. */
  readonly code?: ErrorCode;
}

/** A version of the API and its document. */
export interface DocumentedVersion {
  readonly version: ApiVersion;
  /** The path of its reference. */
  readonly path: string;
  /** The path of its OpenAPI document as JSON. */
  readonly documentPath: string;
  readonly document: OpenApiDocument;
  readonly operations: readonly Operation[];
  /** Its address, which ends in the version segment. */
  readonly baseUrl: string;
}

/** The input for rendering pages. */
export interface Site {
  /** The name of the service. */
  readonly name: string;
  /** The address of the installation. */
  readonly root: string;
  readonly assets: Assets;
  /** The current version comes first. */
  readonly versions: readonly DocumentedVersion[];
  readonly references: readonly Page[];
  /** In the order of their list. */
  readonly guides: readonly Page[];
  /** One for each code of the catalogue, in its order. */
  readonly errors: readonly Page[];
}

/** @throws Error if a document names no server */
export const readVersions = (documentOf: (version: ApiVersion) => object): readonly DocumentedVersion[] =>
  DOCUMENTED_VERSIONS.map(({ version, referencePath }) => {
    const document = resolveReferences(documentOf(version));
    const [server] = document.servers;
    if (server === undefined) throw new Error(`The OpenAPI document of ${version} must name a server.`);
    return {
      version,
      path: referencePath.slice(1),
      documentPath: `${version}/openapi.json`,
      document,
      operations: operationsOf(document),
      baseUrl: server.url,
    };
  });
