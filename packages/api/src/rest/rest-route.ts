import type { Context } from '../context.ts';
import type { Deprecation } from '../deprecation.ts';
import type { ApiVersion } from '../openapi/versions.ts';
import type { JsonPiece } from './order-json.ts';

/** The response to a successful call. */
export type RestResult =
  | { readonly type: 'empty' }
  | { readonly type: 'json'; readonly text: string }
  | { readonly type: 'json-stream'; readonly pieces: AsyncIterable<JsonPiece> };

/** What goes past trpc-to-openapi. */
export interface RestReply {
  /** The body in pieces, in place of the other. */
  pieces?: AsyncIterable<JsonPiece>;
}

/** An operation as a REST route of one version. */
export interface RestRoute {
  readonly operationId: string;
  /** The procedure's path in the router, such as `orders.cancel`. */
  readonly procedure: string;
  /** The version in the first segment of its URL. */
  readonly apiVersion: ApiVersion;
  readonly method: 'GET' | 'DELETE' | 'POST' | 'PUT' | 'PATCH';
  /** The path after the version segment, with parameters in braces: `/store/orders/{orderId}`. */
  readonly path: `/${string}`;
  readonly successStatus: 200 | 204;
  /** Whether the operation has query parameters. */
  readonly takesQuery: boolean;
  /** Present if the operation is deprecated. */
  readonly deprecation?: Deprecation;
  /**
   * Runs the operation.
   *
   * @param params the path parameters, percent-decoded
   * @param query the text after the question mark, as it was sent; ignored unless `takesQuery`
   * @throws ApiError for an error that the caller may see; any other error is a fault of the service
   */
  call(params: Readonly<Record<string, string>>, context: Context, query?: string): Promise<RestResult>;
}
