import type { IncomingMessage } from 'node:http';
import { ApiError } from '@petstore/api';
import type { Exchange } from './exchange.ts';

/** The client was gone before its request had come in full: there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

const IS_JSON = /^application\/json[ \t]*(?:;|$)/i;

/** A body up to this size is read to its end and dropped, so that the connection can be used again. */
const DROPPED_BODY_MAX_BYTES = 65_536;

/**
 * Whether a body that nobody reads is dropped. The end of a larger one, or of one whose size is not told, is not waited
 * for: the connection cannot be used again (RFC 9112 section 9.3).
 */
export const isDropped = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= DROPPED_BODY_MAX_BYTES;

/** Whether the body is JSON as it is, neither of another media type nor encoded. */
export function isPlainJson({ request: { headers } }: Exchange): boolean {
  const { 'content-type': type, 'content-encoding': encoding } = headers;
  return type !== undefined && IS_JSON.test(type) && (encoding === undefined || encoding === 'identity');
}

/**
 * Reads the body of a request as text, after telling a client that waits for it to go on.
 *
 * @throws ApiError (as a rejection) `payload_too_large`, or what the HTTP parser finds wrong with it
 * @throws ClientGoneError (as a rejection)
 */
export async function readBody(exchange: Exchange, maxBytes: number): Promise<string> {
  const { request, response } = exchange;
  const { headers } = request;
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw new ApiError('payload_too_large');
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return '';
  if (exchange.bodyRefusal !== undefined) throw new ApiError(exchange.bodyRefusal);
  if (request.destroyed) throw new ClientGoneError();
  if (headers.expect !== undefined) response.writeContinue();
  return collect(exchange, maxBytes);
}

function collect(exchange: Exchange, maxBytes: number): Promise<string> {
  const { request } = exchange;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let byteLength = 0;
    function settle(conclude: () => void) {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      exchange.onBodyRefused = undefined;
      conclude();
    }
    function onData(chunk: Buffer) {
      byteLength += chunk.byteLength;
      chunks.push(chunk);
      if (byteLength > maxBytes) settle(() => reject(new ApiError('payload_too_large')));
    }
    function onEnd() {
      exchange.markBodyRead();
      settle(() => resolve(Buffer.concat(chunks, byteLength).toString('utf8')));
    }
    function onClose() {
      settle(() => reject(new ClientGoneError()));
    }
    exchange.onBodyRefused = (code) => settle(() => reject(new ApiError(code)));
    request.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}
