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
