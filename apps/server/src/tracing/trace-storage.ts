import type { Attributes } from '@opentelemetry/api';
import type { ApiKeyStore, OrderRepository, PetRepository } from '@petstore/domain';
import type { RateLimiter } from '@petstore/rate-limit';
import { databaseCall, type SpanFacts, type Spans } from './spans.ts';

// Requests of one tick share a statement or a call of the script. Each has a span of its own all the same: the time that
// it waited.

const tableCall = (operation: string, table: string, attributes: Attributes, target = table): SpanFacts =>
  databaseCall(operation, target, { ...attributes, 'db.collection.name': table });

interface OrdersAttributes {
  readonly writes: Attributes;
  /** A replica may serve some. */
  readonly reads: Attributes;
}

/** A span of each statement on orders, and of each batch of a list. */
export function traceOrders(
  orders: OrderRepository,
  spans: Spans,
  { writes, reads }: OrdersAttributes,
): OrderRepository {
  const change = tableCall('UPDATE', 'orders', writes);
  const insert = tableCall('INSERT', 'orders', writes);
  const batch = tableCall('SELECT', 'orders', reads, 'orders batch');
  return {
    ...traceLookUps(orders, spans, tableCall('SELECT', 'orders', reads)),
    listOrders: () => traceBatches(orders.listOrders(), spans, batch),
    listOrderTexts: () => traceBatches(orders.listOrderTexts(), spans, batch),
    applyCommand: (...command) => spans.measure(change, () => orders.applyCommand(...command)),
    insertOrder: (...order) => spans.measure(insert, () => orders.insertOrder(...order)),
  };
}

type LookUp = (...parameters: unknown[]) => Promise<unknown>;

/** A span of each call of a port, whose methods need not be named. */
function traceLookUps<Port extends object>(port: Port, spans: Spans, facts: SpanFacts): Port {
  const lookUps = Object.entries(port as Readonly<Record<string, LookUp>>); // or the caller replaces it
  const traced = lookUps.map(([name, lookUp]): [string, LookUp] => [
    name,
    (...parameters) => spans.measure(facts, () => lookUp(...parameters)),
  ]);
  return Object.fromEntries(traced) as Port; // the same methods under the same names
}

/** The spans belong to the call which lists, also if another one reads the batches. */
function traceBatches<Batch>(batches: AsyncIterable<Batch>, spans: Spans, facts: SpanFacts): AsyncIterable<Batch> {
  const context = spans.current;
  return {
    async *[Symbol.asyncIterator]() {
      const iterator = batches[Symbol.asyncIterator]();
      try {
        for (;;) {
          const { done, value } = await spans.measure(facts, () => iterator.next(), context);
          if (done === true) return;
          yield value;
        }
      } finally {
        await iterator.return?.();
      }
    },
  };
}

export function tracePets(pets: PetRepository, spans: Spans, attributes: Attributes): PetRepository {
  return traceLookUps(pets, spans, tableCall('SELECT', 'pets', attributes));
}

export function traceApiKeys(apiKeys: ApiKeyStore, spans: Spans, attributes: Attributes): ApiKeyStore {
  const find = tableCall('SELECT', 'api_keys', attributes);
  const mark = tableCall('UPDATE', 'api_keys', attributes);
  return {
    findSecret: (hash) => spans.measure(find, () => apiKeys.findSecret(hash)),
    markKeyUsed: (id, at) => spans.measure(mark, () => apiKeys.markKeyUsed(id, at)),
  };
}

interface LimiterTracing {
  readonly attributes: Attributes;
  readonly isInRedis: () => boolean;
}

/** A span of each call that asks Redis; what the process decides by itself takes no time. */
export function traceLimiter(
  limiter: RateLimiter,
  spans: Spans,
  { attributes, isInRedis }: LimiterTracing,
): RateLimiter {
  const check = databaseCall('EVALSHA', 'check', attributes);
  const peek = databaseCall('EVALSHA', 'peek', attributes);
  return {
    check(subject, cost) {
      const decision = limiter.check(subject, cost);
      return decision instanceof Promise ? spans.measure(check, () => decision) : decision;
    },
    peek: (subject) => (isInRedis() ? spans.measure(peek, () => limiter.peek(subject)) : limiter.peek(subject)),
    recall: (subject) => limiter.recall(subject),
    debit: (subject, use) => limiter.debit(subject, use),
  };
}
