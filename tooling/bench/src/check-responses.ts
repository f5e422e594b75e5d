import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { type BenchEnvironment, CONTENDERS, type Contender } from './environment/bench-environment.ts';
import { type BenchKeys, runSql } from './environment/databases.ts';
import { UNKNOWN_ORDER } from './scenarios/request-load.ts';

/** More than a service reads in one batch, and in all states. */
const ORDER_COUNT = 9_000;
const SHIPPED = `update orders set status = 'shipped', shipped_at = now(), complete = id % 2 = 0,
  completed_at = case when id % 2 = 0 then now() end where id % 3 = 0`;
const SHIPPED_ORDER = 3;
/** A pending order for each, since what one has cancelled the other cannot. */
const PENDING = { service: 1, baseline: 2 } satisfies Record<Contender, number>;

/** What must be equal. The messages of errors may differ, and the moment at which a limit resets does. */
interface Response {
  readonly status: number;
  readonly mediaType: string | undefined;
  readonly body: unknown;
  readonly limit: string | undefined;
  readonly hasRetryAfter: boolean;
}

/** In the order in which they are sent, with the status of each response, so that two that fail alike do not pass. */
const EXPECTED = {
  list: 200,
  'no key': 401,
  'wrong key': 401,
  'malformed id': 400,
  'unknown order': 404,
  'shipped order': 409,
  'pending order': 204,
  'cancelled order': 409,
  'within the limit': 200,
  'beyond the limit': 429,
} as const;
type RequestName = keyof typeof EXPECTED;
type Responses = Readonly<Record<RequestName, Response>>;

/**
 * Sends the same requests to both contenders.
 *
 * @throws Error that names the first response in which they differ: what does not do the same cannot be compared
 */
export async function checkResponses(environment: BenchEnvironment): Promise<void> {
  const databaseUrl = await environment.databases.fill('orders_to_check', ORDER_COUNT);
  await runSql(databaseUrl, SHIPPED);
  const responses: Responses[] = [];
  for (const contender of CONTENDERS) {
    await using server = await environment.startServer(contender, databaseUrl);
    responses.push(await sendAll(server.listUrl, environment.databases.keys, PENDING[contender]));
    const [row] = await runSql(databaseUrl, `select status from orders where id = ${PENDING[contender]}`);
    if (row?.['status'] !== 'cancelled') throw new Error(`the ${contender} responded 204, and cancelled nothing`);
  }
  const [service, baseline] = responses;
  for (const [name, status] of Object.entries(EXPECTED)) {
    const [one, other] = [service?.[name as RequestName], baseline?.[name as RequestName]]; // Object.entries forgets it
    if (one?.status !== status) throw new Error(`"${name}": ${status} expected, response: ${show(one)}`);
    if (isDeepStrictEqual(one, other)) continue;
    throw new Error(`"${name}" gives different responses:\nservice:  ${show(one)}\nbaseline: ${show(other)}`);
  }
}

async function sendAll(listUrl: string, { unlimited, exhausted }: BenchKeys, pendingId: number): Promise<Responses> {
  const list = (apiKey?: string) => send(listUrl, 'GET', apiKey);
  const cancel = (id: number | string) => send(`${listUrl}/${id}`, 'DELETE', unlimited);
  return {
    list: await list(unlimited),
    'no key': await list(),
    'wrong key': await list('unknown'),
    'malformed id': await cancel('0x1'),
    'unknown order': await cancel(UNKNOWN_ORDER),
    'shipped order': await cancel(SHIPPED_ORDER),
    'pending order': await cancel(pendingId),
    'cancelled order': await cancel(pendingId),
    'within the limit': await list(exhausted),
    'beyond the limit': await list(exhausted),
  };
}

async function send(url: string, method: 'GET' | 'DELETE', apiKey?: string): Promise<Response> {
  const { statusCode, headers, body } = await request(url, {
    method,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  });
  const text = await body.text();
  return {
    status: statusCode,
    mediaType: headers['content-type']?.toString().split(';')[0],
    body: statusCode < 400 ? text : withoutMessage(text),
    limit: headers['x-ratelimit-limit']?.toString(),
    hasRetryAfter: Number(headers['retry-after'] ?? 0) >= 1,
  };
}

/** An Error object with its message reduced to whether there is one. */
function withoutMessage(text: string): unknown {
  const { message, ...rest } = JSON.parse(text) as Record<string, unknown>; // an object, or the comparison fails
  return { ...rest, hasMessage: typeof message === 'string' && message !== '' };
}

const show = (response: Response | undefined): string => String(JSON.stringify(response)).slice(0, 400);
