import type { httpBatchLink } from '@trpc/client';
import type { Connection } from '../options.ts';
import type { Answer } from '../transport/answer.ts';
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
    const answer = await sender.send({
      method: init.method ?? 'GET',
      url: String(url),
      headers,
      body: init.body as string | undefined, // and a text
      timeoutMs,
      signal: init.signal ?? undefined,
      isFree,
      cost: costOf(String(url)),
    });
    if (answer.ok && headers['trpc-accept'] === 'application/jsonl') return streamedResponse(answer, gate);
    // Somebody else's answer, such as a proxy's page.
    if (!answer.headers.get('content-type')?.includes('json')) throw await answer.readError();
    return wholeResponse(answer);
  };
}

/** Each call of a batch counts; their names are joined by commas. */
const costOf = (url: string): number => new URL(url).pathname.split('/').at(-1)?.split(',').length ?? 1;

/** Read to its end at once, so that an answer that breaks off is tried again. */
async function wholeResponse(answer: Answer): Promise<TrpcResponse> {
  const text = await answer.readText();
  const { ok, headers } = answer;
  return { ok, headers, body: null, json: async () => JSON.parse(text) };
}

function streamedResponse(answer: Answer, gate: PullGate): TrpcResponse {
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const isWanted = await gate.passed();
        if (!isWanted) answer.close();
        const chunk = isWanted ? await answer.readChunk() : undefined;
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
      cancel: () => answer.close(),
    },
    { highWaterMark: 0 },
  );
  const { ok, headers } = answer;
  return { ok, headers, body, json: () => Promise.reject(new TypeError('The answer comes in pieces.')) };
}
