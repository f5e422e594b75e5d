import type { httpBatchLink } from '@trpc/client';
import type { Connection } from '../options.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import { PullGate } from './pull-gate.ts';

/** The form that tRPC's links take. */
type TrpcFetch = NonNullable<Parameters<typeof httpBatchLink>[0]['fetch']>;

/** As much of a response as tRPC reads. */
export interface TrpcResponse {
  readonly ok: boolean;
  readonly headers: Headers;
  /** Of an answer that comes in pieces; null where it was read already. */
  readonly body: ReadableStream<Uint8Array> | null;
  json(): Promise<unknown>;
}

interface TrpcFetchOptions {
  /** Whether the service counts none of the calls. @default false */
  readonly isFree?: boolean;
  /** For responses in pieces: when to read the next one. @default at once */
  readonly gate?: PullGate;
}

/** What tRPC's links send one request by: in its turn, bounded in time, with failures that the retries understand. */
export function createTrpcFetch(
  { sender, timeoutMs }: Connection,
  { isFree, gate = new PullGate() }: TrpcFetchOptions = {},
): TrpcFetch {
  return async (url, init = {}): Promise<TrpcResponse> => {
    const headers = init.headers as Record<string, string>; // tRPC's links give a plain object
    const response = await sender.send({
      method: init.method ?? 'GET',
      url: String(url),
      headers,
      body: init.body as string | undefined, // and a text
      timeoutMs,
      signal: init.signal ?? undefined,
      isFree,
      cost: costOf(String(url)),
    });
    if (response.ok && headers['trpc-accept'] === 'application/jsonl') return streamedResponse(response, gate);
    // Somebody else's answer, such as a proxy's page.
    if (!response.headers.get('content-type')?.includes('json')) throw await response.readError();
    return wholeResponse(response);
  };
}

/** Each call of a batch counts; their names are joined by commas. */
const costOf = (url: string): number => new URL(url).pathname.split('/').at(-1)?.split(',').length ?? 1;

/** Read to its end at once, so that an answer that breaks off is tried again. */
async function wholeResponse(response: ServiceResponse): Promise<TrpcResponse> {
  const text = await response.readText();
  const { ok, headers } = response;
  return { ok, headers, body: null, json: async () => JSON.parse(text) };
}

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
