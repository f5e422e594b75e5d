import { type ApiVersion, openApiDocument } from '@petstore/api';
import Negotiator from 'negotiator';
import type { SiteResources } from './create-site.ts';
import type { Encoding, Resource } from './resource.ts';

/** What of a GET or HEAD request decides on its response. */
export interface ReferenceRequest {
  /** Percent-decoded, without the query. */
  readonly path: string;
  /** The header field as it came. A page is sent as Markdown to clients that prefer it. */
  readonly accept?: string | undefined;
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
  readonly status: 200 | 308 | 404;
  /** By lower-case name, `content-length` aside. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for a 308; else one object for all requests of the same path and content coding. */
  readonly body: Uint8Array;
}

/** The interactive reference and the guides, under `/docs`. */
export interface Reference {
  /**
   * @returns `undefined` if nothing is at the path, unless HTML is preferred to JSON: then a page with status 404
   * @throws Error (as a rejection) when a file of the installation cannot be read
   */
  respond(request: ReferenceRequest): Promise<ReferenceResponse | undefined>;
}

/**
 * Creates the site. That costs nothing: the code that makes pages is loaded with the first request, and each file is
 * read, rendered and compressed with the first request for it.
 */
export function createReference({ documentOf = committedDocument }: ReferenceOptions = {}): Reference {
  let loading: Promise<SiteResources> | undefined;
  const load = async () => (await import('./create-site.ts')).createSite(documentOf);
  return {
    async respond(request) {
      loading ??= load().catch((error: unknown) => {
        loading = undefined; // the next request tries again
        throw error;
      });
      return respondFrom(await loading, request);
    },
  };
}

async function respondFrom(site: SiteResources, request: ReferenceRequest): Promise<ReferenceResponse | undefined> {
  const { path, accept = '*/*', acceptEncoding = '' } = request;
  const negotiator = new Negotiator({ headers: { accept, 'accept-encoding': acceptEncoding } });
  const page = site.pages.get(path);
  const markdown = site.pages.get(`${path}.md`);
  const send = async (status: 200 | 404, resource: Resource, vary: string): Promise<ReferenceResponse> => {
    const encoding = chooseEncoding(negotiator);
    const coding = encoding === 'identity' ? {} : { 'content-encoding': encoding };
    return { status, headers: { ...resource.headers, ...coding, vary }, body: await resource.encode(encoding) };
  };
  if (page !== undefined && markdown !== undefined) {
    const prefersMarkdown = negotiator.mediaTypes(['text/html', 'text/markdown'])[0] === 'text/markdown';
    return send(200, prefersMarkdown ? markdown : page, 'accept, accept-encoding');
  }
  if (page !== undefined) return send(200, page, 'accept-encoding');
  const redirection = redirectToPage(site.pages, path);
  if (redirection !== undefined) return redirection;
  const notFound = site.notFound[path.split('/').length - 3];
  const isPerson = negotiator.mediaTypes(['application/json', 'text/html'])[0] === 'text/html';
  return isPerson && notFound !== undefined ? send(404, notFound, 'accept, accept-encoding') : undefined;
}

const committedDocument = (version: ApiVersion): object =>
  openApiDocument({ version, servers: [{ url: `http://127.0.0.1:3000/${version}` }] });

/** A slash too many at the end. Relative, so that it holds behind a proxy that serves us under a path of its own. */
function redirectToPage(pages: SiteResources['pages'], path: string): ReferenceResponse | undefined {
  const page = path.slice(0, -1);
  if (!path.endsWith('/') || !pages.has(page)) return undefined;
  const location = `../${page.slice(page.lastIndexOf('/') + 1)}`;
  return { status: 308, headers: { location, 'cache-control': 'no-cache' }, body: new Uint8Array() };
}

const ENCODINGS: Encoding[] = ['br', 'gzip', 'identity'];

/** The best of ours that the client takes; an order of its own among them would be of no use to it. */
function chooseEncoding(negotiator: Negotiator): Encoding {
  const accepted = negotiator.encodings(ENCODINGS);
  return ENCODINGS.find((encoding) => accepted.includes(encoding)) ?? 'identity';
}
