import { type ApiVersion, DOCUMENTED_VERSIONS, type ErrorCode } from '@petstore/api';
import type { Assets } from './assets.ts';
import { type OpenApiDocument, type Operation, operationsOf, resolveReferences } from './open-api.ts';

/** The path of the reference of v1; all other pages are below it. */
export const REFERENCE_PATH = '/docs';
/** The path of the guide to errors; each code has a page below it. */
export const ERRORS_PATH = `${REFERENCE_PATH}/errors`;
/** The path of the search entries: a module, loaded together with the library. */
export const SEARCH_ENTRIES_PATH = `${REFERENCE_PATH}/search-entries.js`;

/** A page of the site, written or generated as Markdown. */
export interface Page {
  readonly path: string;
  readonly title: string;
  /** One or two sentences, in Markdown. */
  readonly summary: string;
  /** Its links name files below `docs`, or pages of the site by paths that begin with a slash. */
  readonly markdown: string;
  /** The folder to which links to files are relative: `guides`. */
  readonly folder: string;
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
  /** The paths of pages, by their files below `docs`. */
  readonly pathsBySource: ReadonlyMap<string, string>;
}

/** A relative link from one absolute path to another, which also works behind a proxy that adds a path prefix. */
export const relativeLink = (from: string, to: string): string =>
  '../'.repeat(from.split('/').length - 2) + to.slice(1);

/** @throws Error if a document names no server */
export const readVersions = (documentOf: (version: ApiVersion) => object): readonly DocumentedVersion[] =>
  DOCUMENTED_VERSIONS.map(({ version, referencePath: path }) => {
    const document = resolveReferences(documentOf(version));
    const [server] = document.servers;
    if (server === undefined) throw new Error(`The OpenAPI document of ${version} must name a server.`);
    const documentPath = `/${version}/openapi.json`;
    return { version, path, documentPath, document, operations: operationsOf(document), baseUrl: server.url };
  });

/** For search engines and link previews. */
export const firstSentence = (markdown: string): string =>
  (/^.*?\.(?=\s|$)/s.exec(markdown)?.[0] ?? markdown).replaceAll('`', '');
