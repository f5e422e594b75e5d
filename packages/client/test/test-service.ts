import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { appRouter, type Context, toTrpcEnvelope, trpcResponseMeta } from '@petstore/api';
import type { ApiKeyId, ApiKeyKind } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { createTestDatabase } from '@petstore/testing';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';

/** The real procedures on a real database, behind tRPC's own HTTP server. Its two keys stand for the service's door. */
export interface TestService extends AsyncDisposable {
  readonly origin: string;
  readonly persistence: Persistence;
  /** What came: method and URL, in order. */
  readonly requests: string[];
}

const KEYS: Readonly<Record<string, ApiKeyKind>> = { 'Bearer internal': 'internal', 'Bearer external': 'external' };

export async function startTestService(): Promise<TestService> {
  const database = await createTestDatabase({
    template: {
      name: 'migrated',
      async prepare(databaseUrl) {
        await using persistence = openPersistence({ databaseUrl });
        await persistence.migrations.migrate();
      },
    },
  });
  const persistence = openPersistence({ databaseUrl: database.url });
  const { orders, pets } = persistence;
  const services = { orders, pets, clock: () => new Date(), petsSunsetAt: new Date('2027-06-30T00:00:00Z') };
  const contextOf = ({ headers }: IncomingMessage): Context => {
    const kind = KEYS[headers.authorization ?? ''] ?? 'external';
    const keyId = 'abcd1234' as ApiKeyId; // never looked up
    return { services, requestId: 'test', principal: { type: 'api-key', keyId, kind } };
  };
  const handle = createHTTPHandler({
    router: appRouter,
    basePath: '/trpc/',
    createContext: ({ req }) => contextOf(req),
    responseMeta: trpcResponseMeta,
  });
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (KEYS[request.headers.authorization ?? ''] !== undefined) return handle(request, response);
    response.writeHead(401, { 'content-type': 'application/json' }).end(toTrpcEnvelope('invalid_api_key'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    origin: `http://127.0.0.1:${port}`,
    persistence,
    requests,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      await persistence.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
