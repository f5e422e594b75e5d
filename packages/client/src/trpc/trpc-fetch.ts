import type { httpBatchLink } from '@trpc/client';
import type { Connection } from '../options.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import { PullGate } from './pull-gate.ts';

/** The type that tRPC's links accept. */
type TrpcFetch = NonNullable<Parameters<typeof httpBatchLink>[0]['fetch']>;

/** The part of a response that tRPC reads. */
export interface TrpcResponse {
  readonly ok: boolean;
  readonly headers: Headers;
  /** Of a streamed response; null where the body has been read already. */
  readonly body: ReadableStream<Uint8Array> | null;
  json(): Promise<unknown>;
}

interface TrpcFetchOptions {
  /** Whether the service counts none of the calls. @default false */
  readonly isFree?: boolean;
  /** For streamed responses: lets chunks be read only while the caller waits for one. @default always */
  readonly gate?: PullGate;
  /** Called with the response when its stream begins. */
  readonly onStream?: (response: ServiceResponse) => void;
}

/** The `fetch` of tRPC's links: throttled, bounded in time, with failures that the retry loop understands. */
export function createTrpcFetch(
  { sender, timeoutMs }: Connection,
  { isFree, gate = new PullGate(), onStream }: TrpcFetchOptions = {},
): TrpcFetch {
  return async (url, init = {}): Promise<TrpcResponse> => {
    const headers = init.headers as Record<string, string>; // tRPC's links give a plain object
    const response = await sender.send({
      method: init.method ?? 'GET',
      url: String(url),
      headers,
      body: init.body as string | undefined, // and a string
      timeoutMs,
      signal: init.signal ?? undefined,
      isFree,
      cost: costOf(String(url)),
    });
    // It did not come from the service: a proxy's page, for example.
    if (!response.headers.get('content-type')?.includes('json')) throw await response.readError();
    if (response.ok && headers['trpc-accept'] === 'application/jsonl') {
      onStream?.(response);
      return streamedResponse(response, gate);
    }
    return wholeResponse(response);
  };
}

/** Each call of a batch counts; their names are joined by commas. */
const costOf = (url: string): number => new URL(url).pathname.split('/').at(-1)?.split(',').length ?? 1;

/** Read to its end at once, so that a call whose response breaks off is tried again. */
async function wholeResponse(response: ServiceResponse): Promise<TrpcResponse> {
  const envelopes = parseEnvelopes(await response.readText());
  // It did not come from the service either: the JSON of a gateway.
  if (envelopes === undefined) throw response.createError();
  const { ok, headers } = response;
  return { ok, headers, body: null, json: async () => envelopes };
}

/** @returns `undefined` where the text is not what tRPC responds, alone or in a batch */
function parseEnvelopes(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return [value].flat().every(isEnvelope) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isEnvelope = (value: unknown): boolean => {
  const { result, error } = (value ?? {}) as { readonly result?: unknown; readonly error?: unknown }; // as any value may be read
  return [result, error].some((content) => typeof content === 'object' && content !== null);
};

function streamedResponse(response: ServiceResponse, gate: PullGate): TrpcResponse {
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const isWanted = await gate.passed();
        if (!isWanted) response.close();
        const chunk = isWanted ? await response.readChunk() : undefined;
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
      cancel: () => response.close(),
    },
    { highWaterMark: 0 },
  );
  const { ok, headers } = response;
  return { ok, headers, body, json: () => Promise.reject(new TypeError('The response is a stream.')) };
}
