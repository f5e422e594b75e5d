import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, type ErrorCode } from '@petstore/api';

/** Why the rest of a body cannot be understood or does not come; also the event that says so. */
const REFUSAL = Symbol('bodyRefusal');

declare module 'node:http' {
  interface IncomingMessage {
    [REFUSAL]?: ErrorCode;
  }
}

/** The client was gone before its request had come in full: no response can reach it. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

const IS_JSON = /^application\/json[ \t]*(?:;|$)/i;

/** A body up to this size is read to its end and dropped, so that the connection can be used again. */
const DROPPED_BODY_MAX_BYTES = 65_536;

/**
 * Whether a body that no handler reads is dropped. The end of a larger one, or of one of unknown size, is not waited for:
 * the connection cannot be used again (RFC 9112 section 9.3).
 */
export const isDropped = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= DROPPED_BODY_MAX_BYTES;

/** Whether the body is JSON as it is, neither of another media type nor encoded. */
export function isPlainJson({ 'content-type': type, 'content-encoding': encoding }: IncomingHttpHeaders): boolean {
  return type !== undefined && IS_JSON.test(type) && (encoding === undefined || encoding === 'identity');
}

/** Makes reading the body fail, now or later: no more of it will come. */
export function refuseBody(request: IncomingMessage, code: ErrorCode): void {
  request[REFUSAL] = code;
  request.emit(REFUSAL, code);
}

/**
 * Reads the body of a request as text, after telling a client that waits for it to go on.
 *
 * @throws ApiError (as a rejection) `payload_too_large`, or what the HTTP parser finds wrong with it
 * @throws ClientGoneError (as a rejection)
 */
export async function readBody(request: IncomingMessage, response: ServerResponse, maxBytes: number): Promise<string> {
  const { headers } = request;
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw new ApiError('payload_too_large');
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return '';
  if (request[REFUSAL] !== undefined) throw new ApiError(request[REFUSAL]);
  if (request.destroyed) throw new ClientGoneError();
  if (headers.expect !== undefined) response.writeContinue();
  return collect(request, maxBytes);
}

function collect(request: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let byteLength = 0;
    function stop() {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off(REFUSAL, fail);
    }
    function fail(code: ErrorCode) {
      stop();
      reject(new ApiError(code));
    }
    function onData(chunk: Buffer) {
      byteLength += chunk.byteLength;
      chunks.push(chunk);
      if (byteLength > maxBytes) fail('payload_too_large');
    }
    function onEnd() {
      stop();
      resolve(Buffer.concat(chunks, byteLength).toString('utf8'));
    }
    function onClose() {
      stop();
      reject(new ClientGoneError());
    }
    request.on('data', onData).on('end', onEnd).on('close', onClose).on(REFUSAL, fail);
  });
}
