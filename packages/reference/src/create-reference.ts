import { type ApiVersion, openApiDocument } from '@petstore/api';
import Negotiator from 'negotiator';
import type { Encoding, Resource } from './resource.ts';

/** What of a GET or HEAD request decides on its response. */
export interface ReferenceRequest {
  /** Percent-decoded, without the query: `/docs` or below. */
  readonly path: string;
  /** The header field as it came. */
  readonly acceptEncoding?: string | undefined;
}

export interface ReferenceOptions {
  /**
   * The OpenAPI document of a version, with at least one server; asked for once.
   *
   * @default the committed one, for a server at http://127.0.0.1:3000
   */
  readonly documentOf?: (version: ApiVersion) => object;
}

/** A response to be sent as it is; to HEAD without its body. */
export interface ReferenceResponse {
  readonly status: 200 | 308;
  /** By lower-case name, `content-length` aside. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for a 308; else one object for all requests of the same path and content coding. */
  readonly body: Uint8Array;
}

/** The interactive reference and the guides, under `/docs`. */
export interface Reference {
  /**
   * @returns `undefined` where nothing is at the path
   * @throws Error (as a rejection) when a file of the installation cannot be read
   */
  respond(request: ReferenceRequest): Promise<ReferenceResponse | undefined>;
}

type Site = ReadonlyMap<string, Resource>;

const NOTHING = new Uint8Array();

/**
 * Creates the site. That costs nothing: the code that makes pages is loaded with the first request, and each file is
 * read, rendered and compressed with the first request for it.
 */
export function createReference({ documentOf = committedDocument }: ReferenceOptions = {}): Reference {
  let loading: Promise<Site> | undefined;
  return {
    async respond({ path, acceptEncoding = '' }) {
      loading ??= loadSite(documentOf).catch((error: unknown) => {
        loading = undefined; // the next request tries again
        throw error;
      });
      const site = await loading;
      const resource = site.get(path);
      if (resource === undefined) return redirectToPage(site, path);
      const encoding = chooseEncoding(acceptEncoding);
      const headers: Record<string, string> = { ...resource.headers, vary: 'accept-encoding' };
      headers['content-type'] = resource.contentType;
      if (encoding !== 'identity') headers['content-encoding'] = encoding;
      return { status: 200, headers, body: await resource.encode(encoding) };
    },
  };
}

const committedDocument = (version: ApiVersion): object =>
  openApiDocument({ version, servers: [{ url: `http://127.0.0.1:3000/${version}` }] });

async function loadSite(documentOf: (version: ApiVersion) => object): Promise<Site> {
  const { createSite } = await import('./site/create-site.ts');
  return createSite(documentOf);
}

/** A slash too many at the end. Relative, so that it holds behind a proxy that serves us under a path of its own. */
function redirectToPage(site: Site, path: string): ReferenceResponse | undefined {
  const page = path.slice(0, -1);
  if (!path.endsWith('/') || !site.has(page)) return undefined;
  const location = `../${page.slice(page.lastIndexOf('/') + 1)}`;
  return { status: 308, headers: { location, 'cache-control': 'no-cache' }, body: NOTHING };
}

const ENCODINGS: Encoding[] = ['br', 'gzip', 'identity'];

/** The best of ours that the client takes; an order of its own among them would be of no use to it. */
function chooseEncoding(acceptEncoding: string): Encoding {
  const accepted = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } }).encodings(ENCODINGS);
  return ENCODINGS.find((encoding) => accepted.includes(encoding)) ?? 'identity';
}
