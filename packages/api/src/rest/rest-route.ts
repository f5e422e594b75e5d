import type { Context } from '../context.ts';

/** The version segment that an operation is served below, and whose document it stands in. */
export type ApiVersion = 'v1' | 'v2';

/** How a result goes over the wire. */
export type RestResult =
  | { readonly type: 'empty' }
  | { readonly type: 'json'; readonly text: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly type: 'json-stream'; readonly chunks: AsyncIterable<Uint8Array> };

/** A procedure with `meta.openapi`, as one REST route. */
export interface RestRoute {
  readonly operationId: string;
  /** The procedure's path in the router, such as `orders.cancel`. */
  readonly procedure: string;
  /** The version segment that it is served below. */
  readonly apiVersion: ApiVersion;
  readonly method: 'GET' | 'DELETE' | 'POST' | 'PUT' | 'PATCH';
  /** Below the version segment, with parameters in braces: `/store/orders/{orderId}`. */
  readonly path: `/${string}`;
  readonly successStatus: 200 | 204;
  /** Whether it reads the query. v1 has no query parameters, and ignores all that come. */
  readonly takesQuery: boolean;
  /** Present where the operation is deprecated: since when (RFC 9745). Its sunset is `Services.petsSunsetAt`. */
  readonly deprecatedAt?: Date;
  /**
   * Runs the procedure.
   *
   * @param params the path parameters, percent-decoded, as they came
   * @param query what follows the question mark, as it came; not looked at unless `takesQuery`
   * @throws ApiError for whatever the caller may know; anything else is a failure of ours
   */
  call(params: Readonly<Record<string, string>>, context: Context, query?: string): Promise<RestResult>;
}
