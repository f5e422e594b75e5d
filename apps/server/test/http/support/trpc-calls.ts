import superjson from 'superjson';
import type { TestApp } from './test-app.ts';

interface CallOptions {
  readonly key?: string | null;
  readonly headers?: Record<string, string>;
}

/** What a procedure answered, by tRPC's envelope. */
export interface TrpcAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly data: unknown;
  readonly error:
    | { readonly message: string; readonly code: number; readonly data: Record<string, unknown> }
    | undefined;
}

/** The text of one call's input. */
export const encode = (input: unknown): string => JSON.stringify(superjson.serialize(input));

async function read(response: Response): Promise<TrpcAnswer> {
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
): Promise<TrpcAnswer> {
  return read(await app.fetch(`/trpc/${name}?input=${encodeURIComponent(encode(input))}`, options));
}

export async function mutate(
  app: TestApp,
  name: string,
  input: unknown,
  options: CallOptions = {},
): Promise<TrpcAnswer> {
  const headers = { 'content-type': 'application/json', ...options.headers };
  return read(await app.fetch(`/trpc/${name}`, { ...options, method: 'POST', headers, body: encode(input) }));
}

/** The text of a batch's body. */
export const batchBody = (inputs: readonly unknown[]): string =>
  JSON.stringify(Object.fromEntries(inputs.map((input, i) => [i, superjson.serialize(input)])));
