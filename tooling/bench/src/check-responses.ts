import { isDeepStrictEqual } from 'node:util';
import { type Contender, startServer } from './server.ts';
import { query, type Storage } from './storage.ts';

/** More orders than the service reads in one batch, in all states. */
const ORDER_COUNT = 9_000;
const SHIP = `update orders set status = 'shipped', shipped_at = now(), complete = id % 2 = 0,
  completed_at = case when id % 2 = 0 then now() end where id % 3 = 0`;

/** The requests, with the expected status: the check must not pass because both contenders fail alike. */
const REQUESTS = [
  { what: 'list', key: 'unlimited', status: 200 },
  { what: 'no key', status: 401 },
  { what: 'wrong key', key: 'wrong', status: 401 },
  { what: 'malformed id', cancel: '0x1', key: 'unlimited', status: 400 },
  { what: 'unknown order', cancel: '999999999999', key: 'unlimited', status: 404 },
  { what: 'shipped order', cancel: '3', key: 'unlimited', status: 409 },
  { what: 'pending order', cancel: 'pending', key: 'unlimited', status: 204 },
  { what: 'cancelled order', cancel: 'pending', key: 'unlimited', status: 409 },
  { what: 'within the limit', key: 'exhausted', status: 200 },
  { what: 'beyond the limit', key: 'exhausted', status: 429 },
] as const;
/** A pending order for each contender, because an order can be cancelled only once. */
const PENDING_IDS = { service: '1', baseline: '2' } satisfies Record<Contender, string>;

/**
 * Sends the same requests to both contenders.
 *
 * @throws Error that names the first response in which they differ: the comparison requires equal behaviour
 */
export async function checkResponses(storage: Storage): Promise<void> {
  const databaseUrl = await storage.createDatabase(ORDER_COUNT);
  await query(databaseUrl, SHIP);
  const service = await sendAll('service', databaseUrl, storage);
  const baseline = await sendAll('baseline', databaseUrl, storage);
  const [row] = await query(databaseUrl, `select count(*)::integer as count from orders where status = 'cancelled'`);
  if (row?.['count'] !== 2) throw new Error(`each was to cancel one order: ${row?.['count']} are cancelled`);
  for (const [i, { what, status }] of REQUESTS.entries()) {
    const [one, other] = [service[i], baseline[i]];
    if (one?.status === status && isDeepStrictEqual(one, other)) continue;
    const show = (response: unknown) => String(JSON.stringify(response)).slice(0, 400);
    throw new Error(`"${what}": ${status} expected, alike.\nservice:  ${show(one)}\nbaseline: ${show(other)}`);
  }
}

async function sendAll(contender: Contender, databaseUrl: string, storage: Storage) {
  await using server = await startServer(contender, databaseUrl, storage);
  const keys: Readonly<Record<string, string>> = { ...storage.keys, wrong: 'wrong' };
  const responses = [];
  for (const request of REQUESTS) {
    const id = 'cancel' in request ? request.cancel.replace('pending', PENDING_IDS[contender]) : undefined;
    const response = await fetch(`${server.url}/v1/store/orders${id === undefined ? '' : `/${id}`}`, {
      method: id === undefined ? 'GET' : 'DELETE',
      headers: 'key' in request ? { authorization: `Bearer ${keys[request.key]}` } : {},
    });
    responses.push(await comparable(response));
  }
  return responses;
}

/** The parts that must be equal. Messages of errors and reset times of limits may differ. */
async function comparable(response: Response) {
  const { status, headers } = response;
  const text = await response.text();
  return {
    status,
    mediaType: headers.get('content-type')?.split(';')[0],
    limit: headers.get('x-ratelimit-limit'),
    hasRetryAfter: Number(headers.get('retry-after')) >= 1,
    body: status < 400 ? text : { ...JSON.parse(text), message: 'any' },
  };
}
