import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import superjson, { type SuperJSONResult } from 'superjson';
import { appRouter, trpcResponseMeta } from '../src/index.ts';
import { EXTERNAL, type TestApi } from './test-api.ts';

/** The router behind tRPC's own HTTP server, without any admission before it. */
export interface TrpcServer extends AsyncDisposable {
  readonly url: string;
  /** The errors that `onError` received. */
  readonly errors: unknown[];
}

export async function serveTrpc(api: TestApi): Promise<TrpcServer> {
  const errors: unknown[] = [];
  const server = createHTTPServer({
    router: appRouter,
    createContext: () => api.contextOf(EXTERNAL),
    responseMeta: trpcResponseMeta,
    maxBodySize: 10_000,
    maxBatchSize: 5,
    onError: ({ error }) => {
      errors.push(error);
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    errors,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** What superjson makes of an input, as a client sends it. */
export const encode = (input: unknown): string => JSON.stringify(superjson.serialize(input));

export const decode = (encoded: SuperJSONResult): unknown => superjson.deserialize(encoded);
