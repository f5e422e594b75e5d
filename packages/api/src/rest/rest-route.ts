import type { Context } from '../context.ts';
import type { ApiVersion } from '../openapi/versions.ts';

/** The response of a success. */
export type RestResult =
  | { readonly type: 'empty' }
  | { readonly type: 'json'; readonly text: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly type: 'json-stream'; readonly chunks: AsyncIterable<string> };

/** A procedure as a REST route of one version. */
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
  /** Whether it reads the query. */
  readonly takesQuery: boolean;
  /** Present if the operation is deprecated: since when (RFC 9745), and until when unless overridden (RFC 8594). */
  readonly deprecation?: { readonly deprecatedAt: Date; readonly sunsetAt: Date };
  /**
   * Runs the procedure.
   *
   * @param params the path parameters, percent-decoded
   * @param query what follows the question mark, as it was sent; not read unless `takesQuery`
   * @throws ApiError for what the caller may know; anything else is a fault of ours
   */
  call(params: Readonly<Record<string, string>>, context: Context, query?: string): Promise<RestResult>;
}
