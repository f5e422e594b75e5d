import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import superjson from 'superjson';
import type { TestApp } from './test-app.ts';

interface CallOptions {
  readonly key?: string | null;
  readonly headers?: Record<string, string>;
}

/** The response of a procedure, its envelope parsed. */
export interface TrpcResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly data: unknown;
  readonly error:
    | { readonly message: string; readonly code: number; readonly data: Record<string, unknown> }
    | undefined;
}

/** The input of a call as text. */
export const encode = (input: unknown): string => JSON.stringify(superjson.serialize(input));

async function read(response: Response): Promise<TrpcResponse> {
  const text = await response.text();
  const { result, error } = JSON.parse(text);
  return {
    status: response.status,
    headers: response.headers,
    text,
    data: result === undefined ? undefined : superjson.deserialize(result.data),
    error: error === undefined ? undefined : superjson.deserialize(error),
  };
}

export async function query(
  app: TestApp,
  name: string,
  input: unknown,
  options: CallOptions = {},
): Promise<TrpcResponse> {
  return read(await app.fetch(`/trpc/${name}?input=${encodeURIComponent(encode(input))}`, options));
}

export async function mutate(
  app: TestApp,
  name: string,
  input: unknown,
  options: CallOptions = {},
): Promise<TrpcResponse> {
  const headers = { 'content-type': 'application/json', ...options.headers };
  return read(await app.fetch(`/trpc/${name}`, { ...options, method: 'POST', headers, body: encode(input) }));
}

/** A message of an event stream. */
interface Message {
  readonly event: string | undefined;
  readonly data: unknown;
  readonly id: string | undefined;
}

interface Subscription extends AsyncDisposable {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  /** The next message that is an event, or an error. */
  next(): Promise<Message | undefined>;
  /** The next so many events, by id and type. */
  take(count: number): Promise<readonly string[]>;
  /** Resolves when the stream has ended or was cut, with what it still held. */
  rest(): Promise<readonly Message[]>;
}

/** Follows the changes of orders, as any client of server-sent events does. */
export async function subscribe(
  app: TestApp,
  input?: { readonly after?: unknown },
  { key = app.internalKey, headers = {} }: { readonly key?: string; readonly headers?: Record<string, string> } = {},
): Promise<Subscription> {
  const url = `/trpc/orders.events${input === undefined ? '' : `?input=${encodeURIComponent(encode(input))}`}`;
  // Not by fetch, which opens another connection when a response is aborted.
  const request = get(app.origin + url, { agent: false, headers: { authorization: `Bearer ${key}`, ...headers } });
  const [response]: [IncomingMessage] = (await once(request, 'response')) as [IncomingMessage]; // as Node documents
  const messages = readMessages(response);
  const next = async () => {
    for (;;) {
      const { done, value } = await messages.next().catch(endIfCut);
      if (done === true) return undefined;
      if (value.event !== 'ping' && value.event !== 'connected') return value;
    }
  };
  return {
    status: response.statusCode,
    headers: response.headers,
    next,
    async take(count) {
      const taken: string[] = [];
      while (taken.length < count) {
        const message = await next();
        if (message === undefined) throw new Error(`The stream ended after ${taken.length} events.`);
        const { type, id } = message.data as { type: string; id: string }; // an event
        taken.push(`${id} ${type}`);
      }
      return taken;
    },
    async rest() {
      const all: Message[] = [];
      for (let message = await next(); message !== undefined; message = await next()) all.push(message);
      return all;
    },
    async [Symbol.asyncDispose]() {
      response.destroy();
      await messages.next().catch(() => {}); // it was cut
    },
  };
}

/** A server ends a subscription by cutting its connection. */
function endIfCut(error: unknown): IteratorReturnResult<undefined> {
  if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET') return { done: true, value: undefined };
  throw error;
}

/** Every message of a stream, those that tRPC keeps for itself included. */
async function* readMessages(body: AsyncIterable<Uint8Array>): AsyncGenerator<Message, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of body) {
    text += decoder.decode(part, { stream: true });
    const messages = text.split('\n\n');
    text = messages.pop() ?? '';
    for (const message of messages) {
      const fields = new Map(message.split('\n').map((line) => [line.split(':', 1)[0], line.replace(/^\w*: ?/, '')]));
      const data = fields.get('data');
      if (data === undefined) continue;
      const isEncoded = data.startsWith('{"json"');
      yield {
        event: fields.get('event'),
        data: isEncoded ? superjson.deserialize(JSON.parse(data)) : data,
        id: fields.get('id'),
      };
    }
  }
}
