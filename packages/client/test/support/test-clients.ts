import { createConnection, type Dependencies } from '../../src/connection.ts';
import type { PetstoreClient, PetstoreClientOptions, PetstoreRestClient } from '../../src/index.ts';
import { restClientOn } from '../../src/rest/rest-client.ts';
import { clientOn } from '../../src/trpc/trpc-client.ts';

/** The options of callers, and the dependencies that only tests choose. */
export type TestClientOptions = PetstoreClientOptions & Partial<Dependencies>;

/** The REST client by a clock of the test's own. */
export const createTestRestClient = (options: TestClientOptions): PetstoreRestClient =>
  restClientOn(createConnection(options, options));

/** The tRPC client by a clock of the test's own. */
export const createTestClient = (options: TestClientOptions): PetstoreClient =>
  clientOn(createConnection(options, options));
