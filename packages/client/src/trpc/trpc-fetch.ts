import type { httpBatchLink } from '@trpc/client';
import type { Connection } from '../connection.ts';
import { connectionError } from '../transport/attempt.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import { mediaTypeOf } from './media-type.ts';

/** The type that tRPC's links accept. */
type TrpcFetch = NonNullable<Parameters<typeof httpBatchLink>[0]['fetch']>;

/** tRPC's response to one call. */
interface Envelope {
  readonly result?: unknown;
  readonly error?: unknown;
}

/** The part of a response that tRPC reads, and its source. tRPC passes it on with results and errors. */
export interface TrpcResponse {
  readonly ok: boolean;
  /** The body of a streamed response; null if the body has been read already. */
  readonly body: ReadableStream<Uint8Array> | null;
  json(): Promise<unknown>;
  readonly source: ServiceResponse;
}

/** The `fetch` of tRPC's links, which sends once, and throws the errors of this client. */
export function createTrpcFetch({ send }: Connection) {
  return async (...[url, init = {}]: Parameters<TrpcFetch>): Promise<TrpcResponse> => {
    const headers = init.headers as Record<string, string>; // tRPC's links pass a plain object
    const streams = headers['trpc-accept'] === 'application/jsonl';
    const source = await send({
      method: init.method ?? 'GET',
      url: String(url),
      headers,
      body: init.body as string | undefined, // and a string
      signal: init.signal ?? undefined,
      streams,
    });
    const { ok } = source;
    if (streams && ok && mediaTypeOf(source.headers) === 'application/json') {
      return { ok, source, body: streamOf(source), json: async () => undefined };
    }
    source.close();
    const envelopes = parseEnvelopes(source.text);
    // The response did not come from the service, but from a proxy or a gateway.
    if (envelopes === undefined || source.hasLostKey) throw source.toError();
    return { ok, source, body: null, json: async () => envelopes };
  };
}

/** @returns `undefined` if the text is not a response of tRPC, single or batched */
function parseEnvelopes(text: string): unknown {
  try {
    const value: Envelope | Envelope[] = JSON.parse(text);
    const envelopes = [value].flat();
    const areAll = envelopes.every(({ result, error }) => typeof (result ?? error ?? '') === 'object');
    return areAll && envelopes.length > 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

const [LINE_FEED, BRACE] = [0x0a, 0x7b];

/**
 * The body of a streamed response, whose first line is an object. Its reader meets a PetstoreError if there is none: the
 * body ends before, or it is an array, because `trpc-accept` was lost on the way.
 */
function streamOf(source: ServiceResponse): ReadableStream<Uint8Array> {
  let hasBegun = false;
  let hasLine = false;
  return new ReadableStream(
    {
      async pull(controller) {
        const chunk = await source.readChunk();
        if (chunk === undefined) {
          if (!hasLine) throw connectionError(source);
          return controller.close();
        }
        if (!hasBegun && chunk[0] !== BRACE) throw source.createError();
        hasBegun = true;
        hasLine ||= chunk.includes(LINE_FEED);
        controller.enqueue(chunk);
      },
      cancel: () => source.close(),
    },
    { highWaterMark: 0 },
  );
}
