import type { ApiVersion } from '@petstore/api';

/** The parts of a GET or HEAD request that determine its response. */
export interface ReferenceRequest {
  /** Percent-decoded, without the query. */
  readonly path: string;
  /** The header field as received. */
  readonly accept?: string | undefined;
  /** The header field as received. */
  readonly acceptEncoding?: string | undefined;
}

export interface ReferenceOptions {
  /** Returns the OpenAPI document of a version, with at least one server. Called once per version. */
  readonly documentOf: (version: ApiVersion) => object;
}

/** A response to be sent unchanged; for HEAD, without its body. */
export interface ReferenceResponse {
  readonly status: 200 | 308 | 404;
  /** By lower-case name, without `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  /** For a 200 the same object for all requests of a path and a content coding; empty for a 308. */
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
