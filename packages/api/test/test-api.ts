import type { ApiKeyKind, Order, Principal } from '@petstore/domain';
import { orderId, petId } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { InProcessLimiter } from '@petstore/rate-limit';
import {
  createTestDatabase,
  type DatabaseTemplate,
  type ManualClock,
  manualClock,
  PATIENCE_MS,
} from '@petstore/testing';
import { type Context, createCaller, type RestResult, restRoutes, type Services } from '../src/index.ts';

/** An empty database of the newest schema. */
const MIGRATED: DatabaseTemplate = {
  name: 'migrated',
  async prepare(databaseUrl) {
    await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
    await persistence.migrations.migrate();
  },
};

export const KEY_CREATED_AT = new Date('2026-10-01T12:00:00.000Z');
export const EXTERNAL = principal('external');
export const INTERNAL = principal('internal');
export const READ_ONLY = principal('external', true);
export const READ_ONLY_INTERNAL = principal('internal', true);
export const IN_PROCESS: Principal = { type: 'in-process', name: 'test' };

function principal(kind: ApiKeyKind, readOnly = false): Principal {
  return {
    type: 'api-key',
    keyId: 'abcd1234' as Extract<Principal, { type: 'api-key' }>['keyId'], // it is not looked up
    kind,
    readOnly,
    plan: { name: 'free' },
    name: 'test',
    createdAt: KEY_CREATED_AT,
  };
}

/** The procedures on a database of their own. */
export interface TestApi extends AsyncDisposable {
  readonly persistence: Persistence;
  readonly clock: ManualClock;
  readonly services: Services;
  readonly limiter: InProcessLimiter;
  /** How often changes of orders were announced. */
  announcedCount(): number;
  contextOf(principal: Principal): Context;
  /** Calls by name, as callers in the same process do. */
  callAs(principal: Principal): ReturnType<typeof createCaller>;
  /** Calls through the REST route of an operation, by default as an external key. */
  callRest(
    operationId: string,
    params?: Record<string, string>,
    query?: string,
    principal?: Principal,
  ): Promise<RestResult>;
  importOrders(...orders: Order[]): Promise<void>;
}

export const PETS_SUNSET_AT = new Date('2027-06-30T00:00:00Z');

export async function startTestApi(): Promise<TestApi> {
  const database = await createTestDatabase({ template: MIGRATED });
  const persistence = openPersistence({ databaseUrl: database.url, patienceMs: PATIENCE_MS });
  const clock = manualClock('2026-11-20T12:00:00.000Z');
  const { orders, pets, events } = persistence;
  const limiter = new InProcessLimiter({ nowMs: () => clock().getTime() });
  let announced = 0;
  const services: Services = {
    orders,
    announceEvents: () => void announced++,
    pets,
    events,
    limiter,
    clock,
    petsSunsetAt: PETS_SUNSET_AT,
  };
  const contextOf = (who: Principal): Context => ({
    services,
    principal: who,
    requestId: 'test-request',
    signal: new AbortController().signal,
    delivery: { type: 'in-process' },
  });
  return {
    persistence,
    clock,
    services,
    limiter,
    announcedCount: () => announced,
    contextOf,
    callAs: (who) => createCaller(contextOf(who)),
    async callRest(operationId, params = {}, query, who = EXTERNAL) {
      const route = restRoutes.find((candidate) => candidate.operationId === operationId);
      if (route === undefined) throw new Error(`There is no operation ${operationId}.`);
      return route.call(params, contextOf(who), query);
    },
    async importOrders(...imported) {
      const { rejected } = await orders.importOrders(records(imported));
      if (rejected.length > 0) throw new Error(`Not imported: ${JSON.stringify(rejected)}`);
    },
    async [Symbol.asyncDispose]() {
      await persistence.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

async function* records<Value>(values: readonly Value[]) {
  for (const [index, value] of values.entries()) yield { line: index + 1, value };
}

const PLACED_AT = new Date('2026-11-01T08:00:00.000Z');
const SHIPPED_AT = new Date('2026-11-02T08:00:00.000Z');

const facts = (id: bigint) => ({ id: orderId(id), petId: petId(7n), quantity: 2, placedAt: PLACED_AT });

export const pendingOrder = (id: bigint): Order => ({ ...facts(id), status: 'pending', complete: false });
export const shippedOrder = (id: bigint): Order => ({
  ...facts(id),
  status: 'shipped',
  complete: false,
  shippedAt: SHIPPED_AT,
});
export const completedOrder = (id: bigint): Order => ({
  ...facts(id),
  status: 'shipped',
  complete: true,
  shippedAt: SHIPPED_AT,
  completedAt: new Date('2026-11-03T08:00:00.000Z'),
});
export const cancelledOrder = (id: bigint): Order => ({
  ...facts(id),
  status: 'cancelled',
  complete: false,
  cancelledAt: new Date('2026-11-04T08:00:00.000Z'),
});

/** All chunks of a streamed result as one text. */
export async function readText(result: RestResult): Promise<string> {
  if (result.type !== 'json-stream') throw new Error(`Not a stream but ${result.type}.`);
  let text = '';
  for await (const piece of result.pieces) text += piece.text;
  return text;
}
