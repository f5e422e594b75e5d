/** A deliberate breakage, which the tests of a package must notice. */
export interface Mutant {
  /** What is broken, in plain words. */
  readonly name: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly from: string;
  /** What stands there instead. */
  readonly to: string;
  /** The folder of the package whose tests should notice, from the root of the repository. */
  readonly tests: string;
  /** Test files of that package that run before all of its tests do. */
  readonly first: readonly string[];
}

/** The tests that should notice: the name of their package's folder, and the files that run first. */
interface Holders {
  readonly tests: string;
  readonly first: readonly string[];
}

const testsOf =
  (tests: string) =>
  (...names: readonly string[]): Holders => ({ tests, first: names.map((name) => `test/${name}.test.ts`) });

const byDomain = testsOf('packages/domain');
const byLimiter = testsOf('packages/rate-limit');
const byApi = testsOf('packages/api');
const byPersistence = testsOf('packages/persistence');
const byServer = testsOf('apps/server');
const byClient = testsOf('packages/client');

const DECIDE_ORDER = 'packages/domain/src/decide-order.ts';
const LUA = 'packages/rate-limit/src/limiter.lua';
const ALGORITHM = 'packages/rate-limit/src/algorithm.ts';
const SUBJECT = 'packages/rate-limit/src/subject.ts';
const AUTHENTICATOR = 'packages/api/src/authentication/create-authenticator.ts';
const ERRORS = 'packages/api/src/errors/to-api-error.ts';
const COMMANDS = 'packages/persistence/src/orders/apply-commands.ts';
const PLACE = 'packages/persistence/src/orders/place-order.ts';
const HTTP = 'apps/server/src/http';
const COMPOSE = 'apps/server/src/compose.ts';
const CLIENT_RETRIES = 'packages/client/src/transport/retries.ts';

const DOMAIN: readonly Mutant[] = [
  {
    name: 'a shipped order can be cancelled',
    file: DECIDE_ORDER,
    from: `cancel: {\n    from: { status: 'pending', complete: false },`,
    to: `cancel: {\n    from: { status: 'shipped', complete: false },`,
    ...byDomain('decide-order'),
  },
  {
    name: 'the times of an order go back when clocks differ',
    file: DECIDE_ORDER,
    from: '[stamp]: before > now ? before : now',
    to: '[stamp]: now',
    ...byDomain('decide-order'),
  },
  {
    name: 'an order can be completed twice',
    file: DECIDE_ORDER,
    from: 'if (order.status !== from.status || order.complete !== from.complete) return',
    to: 'if (order.status !== from.status) return',
    ...byDomain('decide-order'),
  },
  {
    name: 'an order of no units can be placed',
    file: 'packages/domain/src/order.ts',
    from: 'export const QUANTITY_MIN = 1;',
    to: 'export const QUANTITY_MIN = 0;',
    ...byDomain('decide-order', 'restore-order'),
  },
  {
    name: 'a revoked key is valid',
    file: 'packages/domain/src/api-key.ts',
    from: 'if (key.revokedAt !== undefined) return Number.NEGATIVE_INFINITY;',
    to: '',
    ...byDomain('api-key'),
  },
  {
    name: 'an id of 2^63 is accepted',
    file: 'packages/domain/src/ids.ts',
    from: 'value >= INT64_MIN && value <= INT64_MAX;',
    to: 'value >= INT64_MIN && value <= INT64_MAX + 1n;',
    ...byDomain('ids'),
  },
];

const LIMITER: readonly Mutant[] = [
  {
    name: 'in Redis a unit of the minute counts for less than a minute',
    file: LUA,
    from: 'local MINUTE = { width = 1000, hold = 61000, ahead = 0 }',
    to: 'local MINUTE = { width = 1000, hold = 60000, ahead = 0 }',
    ...byLimiter('invariants', 'redis-limiter'),
  },
  {
    name: 'in the process a unit of the day counts for less than a day',
    file: ALGORITHM,
    from: 'hold: 87_300_000',
    to: 'hold: 86_400_000',
    ...byLimiter('algorithm', 'in-process-limiter'),
  },
  {
    name: 'in Redis the limit of the day does not refuse',
    file: LUA,
    from: 'local dayOver = perDay and state.day[1] + cost - perDay or 0',
    to: 'local dayOver = 0',
    ...byLimiter('redis-limiter'),
  },
  {
    name: 'in the process the minute admits one request too many',
    file: ALGORITHM,
    from: 'const minuteOver = state.minute.total + cost - subject.perMinute;',
    to: 'const minuteOver = state.minute.total + cost - subject.perMinute - 1;',
    ...byLimiter('algorithm', 'in-process-limiter'),
  },
  {
    name: 'in Redis no number of refusals leads to a ban',
    file: LUA,
    from: 'if not refusalsMax or state.refusals[1] <= refusalsMax then',
    to: 'if true then',
    ...byLimiter('bans'),
  },
  {
    name: 'callers that come back when they are told to are banned',
    file: SUBJECT,
    from: 'Math.max(2 * perMinute, 250)',
    to: 'perMinute / 2',
    ...byLimiter('pools', 'algorithm'),
  },
  {
    name: 'in Redis the second ban is no longer than the first',
    file: LUA,
    from: 'min(state.level + 1, #BANS)',
    to: '1',
    ...byLimiter('bans'),
  },
  {
    name: 'addresses are banned',
    file: SUBJECT,
    from: 'perDay === undefined ? undefined : ',
    to: '',
    ...byLimiter('in-process-limiter', 'bans'),
  },
  {
    name: 'an operator cannot lift a ban',
    file: LUA,
    from: `if operation == 'lift' then lift(state) end`,
    to: '',
    ...byLimiter('administration', 'bans'),
  },
  {
    name: 'of the calls of one tick for one key only the last counts',
    file: LUA,
    from: 'local state = states[key] or load(key, now)',
    to: 'local state = load(key, now)',
    ...byLimiter('redis-limiter'),
  },
  {
    name: 'what was admitted while Redis was away is not counted when it is back',
    file: 'packages/rate-limit/src/resilient-limiter.ts',
    from: 'if (!isDegraded) void this.#bringAllBack();',
    to: '',
    ...byLimiter('faults', 'local-share'),
  },
];

const API: readonly Mutant[] = [
  {
    name: 'a key is cached for an hour',
    file: AUTHENTICATOR,
    from: 'const KNOWN_KEY_FRESH_MS = 5_000;',
    to: 'const KNOWN_KEY_FRESH_MS = 3_600_000;',
    ...byApi('authenticator'),
  },
  {
    name: 'a key that has expired is admitted',
    file: AUTHENTICATOR,
    from: `if (now.getTime() >= known.validUntilMs) return { type: 'invalid' };`,
    to: '',
    ...byApi('authenticator'),
  },
  {
    name: 'a key is not looked up again after it was changed',
    file: AUTHENTICATOR,
    from: 'if (secret.key.id === keyId) this.#known.delete(text);',
    to: '',
    ...byApi('authenticator'),
  },
  {
    name: 'external keys may call internal procedures',
    file: 'packages/api/src/trpc/permission.ts',
    from: `if (access === 'internal' && !isInternal(principal)) throw new ApiError('insufficient_scope', INTERNAL_ONLY);`,
    to: '',
    ...byApi('orders', 'errors'),
  },
  {
    name: 'read-only keys can cancel orders',
    file: 'packages/api/src/trpc/permission.ts',
    from: `if (type === 'mutation' && !mayChange(principal)) throw new ApiError('insufficient_scope');`,
    to: '',
    ...byApi('orders'),
  },
  {
    name: 'external keys may ship orders',
    file: 'packages/api/src/procedures/orders/ship-order.ts',
    from: `  access: 'internal',\n`,
    to: '',
    ...byApi('orders', 'errors'),
  },
  {
    name: 'callers read the message of an unexpected error',
    file: ERRORS,
    from: `new ApiError(code ?? 'internal_error', undefined, cause)`,
    to: `new ApiError(code ?? 'internal_error', cause instanceof Error ? cause.message : undefined, cause)`,
    ...byApi('errors'),
  },
  {
    name: 'storage that is away is said to be a fault of the service',
    file: ERRORS,
    from: `if (cause instanceof StorageUnavailableError) return new ApiError('service_unavailable', undefined, cause);`,
    to: '',
    ...byApi('errors'),
  },
  {
    name: 'superjson builds whatever types a caller names',
    file: 'packages/api/src/trpc/transformer.ts',
    from: 'const { data } = EncodedInput.safeParse(encoded);',
    to: 'const data = encoded as z.infer<typeof EncodedInput>;',
    ...byApi('transformer'),
  },
  {
    name: '64-bit ids are rounded in JSON',
    file: 'packages/api/src/int64.ts',
    from: 'rawJSON(item.toString())',
    to: 'Number(item)',
    ...byApi('pets', 'rest-routes'),
  },
  {
    name: 'a cursor can be used with another filter',
    file: 'packages/api/src/procedures/v2/orders/order-cursor.ts',
    from: 'return encodeCursor(afterId, filter) === cursor ? afterId : undefined;',
    to: 'return afterId;',
    ...byApi('order-lists'),
  },
];

const PERSISTENCE: readonly Mutant[] = [
  {
    name: 'the statement of commands takes shipped orders, too',
    file: COMMANDS,
    from: `and status = \${ruled(({ from }) => from.status)}`,
    to: '',
    ...byPersistence('apply-command'),
  },
  {
    name: 'the log says of a shipped order that it was placed',
    file: COMMANDS,
    from: `select \${ruled(({ event }) => event)}, greatest(`,
    to: `select 'order.placed', greatest(`,
    ...byPersistence('order-events', 'apply-command'),
  },
  {
    name: 'of several commands for one order all are said to be applied',
    file: COMMANDS,
    from: 'applied: applied && firsts.get(each.id) === each',
    to: 'applied',
    ...byPersistence('apply-command'),
  },
  {
    name: 'a command for a locked order is not tried again',
    file: COMMANDS,
    from: `if (first !== 'locked') return first;`,
    to: `if (first !== 'locked') return first;\n    if (performance.now() < deadlineMs) throw lockedError();`,
    ...byPersistence('locked-orders'),
  },
  {
    name: 'a search by ship date includes its end',
    file: 'packages/persistence/src/orders/find-orders.ts',
    from: `'ship_date <'`,
    to: `'ship_date <='`,
    ...byPersistence('find-orders'),
  },
  {
    name: 'a long list leaves an order out between two batches',
    file: 'packages/persistence/src/orders/list-orders.ts',
    from: 'lastId + 1n',
    to: 'lastId + 2n',
    ...byPersistence('lists'),
  },
  {
    name: 'an order that is read has its times exchanged',
    file: 'packages/persistence/src/orders/order-rows.ts',
    from: 'shippedAt: row.shipped_at',
    to: 'shippedAt: row.placed_at',
    ...byPersistence('find-orders', 'order-events'),
  },
  {
    name: 'an idempotency key that is used for another order gives the first one',
    file: PLACE,
    from: `when call = $8 then 'remembered' else 'reused' end`,
    to: `else 'remembered' end`,
    ...byPersistence('idempotency-keys'),
  },
  {
    name: 'an idempotency key is remembered after it has expired',
    file: PLACE,
    from: `case when remembered_at <= $9 then 'expired' when call`,
    to: `case when remembered_at <= $9 and false then 'expired' when call`,
    ...byPersistence('idempotency-keys'),
  },
  {
    name: 'of two calls at once with one idempotency key the second fails',
    file: PLACE,
    from: 'if (!isConflict(error) || attempt >= ATTEMPTS_MAX) throw error;',
    to: 'throw error;',
    ...byPersistence('idempotency-keys'),
  },
  {
    name: 'the old secret of a rotated key never ends',
    file: 'packages/persistence/src/keys/api-key-store.ts',
    from: '...(row.secretExpiresAt && { secretExpiresAt: row.secretExpiresAt })',
    to: '',
    ...byPersistence('api-keys'),
  },
  {
    name: 'followers of events miss one that is committed late',
    file: 'packages/persistence/src/events/event-reader.ts',
    from: 'if (count > 0 || last === undefined) return events.slice(0, count);',
    to: 'if (count > 0 || last === undefined) return events;',
    ...byPersistence('order-events'),
  },
  {
    name: 'a page of events misses one that is committed late',
    file: 'packages/persistence/src/events/read-page.ts',
    from: 'if (last === undefined || count === events.length) return pageOf(events, begin);',
    to: 'if (count <= events.length) return pageOf(events, begin);',
    ...byPersistence('order-events'),
  },
  {
    name: 'events are deleted before they have expired',
    file: 'packages/persistence/src/delete-expired.ts',
    from: 'from oldest where at >= $1)',
    to: 'from oldest where at >= $1 and false)',
    ...byPersistence('order-events'),
  },
  {
    name: 'an import with a bad record inserts the others unasked',
    file: 'packages/persistence/src/import-rows.ts',
    from: 'if (rejectedCount > 0 && !skipBad) return report;',
    to: 'if (rejectedCount < 0 && !skipBad) return report;',
    ...byPersistence('import'),
  },
  {
    name: 'a call that waits for a connection fails when another server takes over',
    file: 'packages/persistence/src/database/pool.ts',
    from: 'if (wasCleared) return undefined;',
    to: '',
    ...byPersistence('connections'),
  },
];

const SERVER: readonly Mutant[] = [
  {
    name: 'a caller may have any number of requests in flight',
    file: 'apps/server/src/http/concurrency.ts',
    from: 'if (before + count > max) return undefined;',
    to: 'if (before + count > max * 1_000) return undefined;',
    ...byServer('http/under-way'),
  },
  {
    name: 'requests without a valid key are not limited',
    file: `${HTTP}/admission.ts`,
    from: `return refusalOf(outcome === 'admitted' ? reason : REFUSAL_CODES[outcome]);`,
    to: `return refusalOf(outcome === 'admitted' ? reason : reason);`,
    ...byServer('http/unauthenticated', 'http/keys'),
  },
  {
    name: 'a batch counts as one request',
    file: `${HTTP}/admission.ts`,
    from: 'fits ? charged : 1',
    to: '1',
    ...byServer('http/trpc'),
  },
  {
    name: 'while storage is away requests without a key get 401',
    file: `${HTTP}/admission.ts`,
    from: `if (!this.#control.isStorageAvailable()) return refusalOf('service_unavailable');\n    const { outcome }`,
    to: `const { outcome }`,
    ...byServer('http/unauthenticated'),
  },
  {
    name: 'scripts of every origin may read responses',
    file: `${HTTP}/cors.ts`,
    from: 'if (origin === undefined || !origins.includes(origin)) return done();',
    to: 'if (origin === undefined) return done();',
    ...byServer('http/cors'),
  },
  {
    name: 'scripts in browsers cannot read the headers of limits',
    file: `${HTTP}/cors.ts`,
    from: '  ...RATE_LIMIT_HEADERS,\n',
    to: '',
    ...byServer('http/cors'),
  },
  {
    name: 'a caller with too much in flight is not told when to come back',
    file: 'packages/api/src/errors/error-response.ts',
    from: `too_many_in_flight: { 'retry-after': '1', 'cache-control'`,
    to: `too_many_in_flight: { 'cache-control'`,
    ...byServer('http/under-way'),
  },
  {
    name: 'a server that is not ready says so with status 200',
    file: 'apps/server/src/operations/admin-listener.ts',
    from: `report.status === 'ready' ? 200 : 503`,
    to: '200',
    ...byServer('process/operations'),
  },
  {
    name: 'a server that is stopping says that it is ready',
    file: COMPOSE,
    from: 'health.beginStopping();\n',
    to: '',
    ...byServer('process/shutdown'),
  },
  {
    name: 'SHUTDOWN_DELAY has no effect',
    file: COMPOSE,
    from: 'await sleep(shutdownDelayMs);',
    to: 'await sleep(0);',
    ...byServer('process/shutdown'),
  },
  {
    name: 'a server that is stopping does not announce that connections end',
    file: `${HTTP}/connections.ts`,
    from: `connection === undefined ? 'keep-alive' : 'close'`,
    to: `connection === undefined ? 'keep-alive' : 'keep-alive'`,
    ...byServer('http/connections'),
  },
  {
    name: 'subscriptions hold up the shutdown',
    file: 'apps/server/src/http/app.ts',
    from: `app.addHook('preClose', async () => subscriptions.close());`,
    to: '',
    ...byServer('http/events', 'process/two-servers'),
  },
  {
    name: 'EVENTS_RETENTION has no effect',
    file: 'apps/server/src/operations/event-cleanup.ts',
    from: 'now.getTime() - retentionMs',
    to: 'now.getTime() - 30 * 24 * 3_600_000',
    ...byServer('process/two-servers'),
  },
  {
    name: 'API keys get into the log',
    file: 'apps/server/src/operations/hide-credentials.ts',
    from: `.replace(KEY, '$1_***')`,
    to: '',
    ...byServer('logger'),
  },
];

const CLIENT: readonly Mutant[] = [
  {
    name: 'the client gives up when the service is unavailable',
    file: CLIENT_RETRIES,
    from: 'new Set([408, 429, 500, 502, 503, 504])',
    to: 'new Set([408, 429, 500, 502, 504])',
    ...byClient('retries'),
  },
  {
    name: 'the client comes back before it was told to',
    file: CLIENT_RETRIES,
    from: 'return Math.max(backoffMs, retryAfterSeconds * 1_000);',
    to: 'return backoffMs;',
    ...byClient('retries'),
  },
  {
    name: 'the client may place an order twice',
    file: 'packages/client/src/trpc/retrying-client.ts',
    from: 'takesKey ? withKey(input) : input;',
    to: 'input;',
    ...byClient('trpc-retries', 'lost-responses'),
  },
  {
    name: 'the client goes on with many requests at once after a refusal',
    file: 'packages/client/src/transport/gate.ts',
    from: 'nowMs < this.#cautiousUntilMs ? 1 : IN_FLIGHT_MAX',
    to: 'IN_FLIGHT_MAX',
    ...byClient('never-banned'),
  },
];

/** What the tests have to notice. */
export const MUTANTS: readonly Mutant[] = [...DOMAIN, ...LIMITER, ...API, ...PERSISTENCE, ...SERVER, ...CLIENT];
