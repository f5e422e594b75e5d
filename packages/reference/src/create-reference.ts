import { type ApiVersion, openApiDocument } from '@petstore/api';
import Negotiator from 'negotiator';
import type { SiteResources } from './create-site.ts';
import type { Encoding, Resource } from './resource.ts';

/** The parts of a GET or HEAD request that determine its response. */
export interface ReferenceRequest {
  /** Percent-decoded, without the query. */
  readonly path: string;
  /** The header field as received. A page is sent as Markdown to clients that prefer Markdown. */
  readonly accept?: string | undefined;
  /** The header field as received. */
  readonly acceptEncoding?: string | undefined;
}

export interface ReferenceOptions {
  /**
   * Returns the OpenAPI document of a version, with at least one server. Called once per version.
   *
   * @default the committed document, for a server at http://127.0.0.1:3000
   */
  readonly documentOf?: (version: ApiVersion) => object;
}

/** A response to be sent unchanged; for HEAD, without its body. */
export interface ReferenceResponse {
  readonly status: 200 | 308 | 404;
  /** By lower-case name, without `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for a 308; otherwise the same object for all requests of a path and a content coding. */
  readonly body: Uint8Array;
}

/** The interactive reference and the guides, under `/docs`. */
export interface Reference {
  /**
   * @returns `undefined` if nothing is at the path; if the client prefers HTML to JSON, a page with status 404 instead
   * @throws Error (as a rejection) if a file of the installation cannot be read
   */
  respond(request: ReferenceRequest): Promise<ReferenceResponse | undefined>;
}

/**
 * Creates the site. This costs nothing: the first request loads the code that makes pages, and each file is read, rendered
 * and compressed at its first request.
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

/** Removes the final slash. The redirect is relative: it also works behind a proxy that serves us below another path. */
function redirectToPage(pages: SiteResources['pages'], path: string): ReferenceResponse | undefined {
  const page = path.slice(0, -1);
  if (!path.endsWith('/') || !pages.has(page)) return undefined;
  const location = `../${page.slice(page.lastIndexOf('/') + 1)}`;
  return { status: 308, headers: { location, 'cache-control': 'no-cache' }, body: new Uint8Array() };
}

const ENCODINGS: Encoding[] = ['br', 'gzip', 'identity'];

/** Our preferred encoding among those that the client accepts; the client's own order is ignored. */
function chooseEncoding(negotiator: Negotiator): Encoding {
  const accepted = negotiator.encodings(ENCODINGS);
  return ENCODINGS.find((encoding) => accepted.includes(encoding)) ?? 'identity';
}
