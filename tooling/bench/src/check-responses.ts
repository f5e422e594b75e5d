import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { Contender, Servers } from './servers.ts';

const SHIP = `update orders set status = 'shipped', shipped_at = now(), complete = id % 2 = 0,
  completed_at = case when id % 2 = 0 then now() end where id % 3 = 0`;

/** @param pendingId another for each contender, because an order can be cancelled only once */
const createRequests = ({ unlimited, exhausted }: Servers['keys'], pendingId: number) => [
  { status: 200, key: unlimited },
  { status: 401, key: '' },
  { status: 401, key: 'unknown' },
  { status: 400, key: unlimited, cancel: 'seven' },
  { status: 404, key: unlimited, cancel: 999_999_999_999 },
  { status: 409, key: unlimited, cancel: 3 }, // which is shipped
  { status: 204, key: unlimited, cancel: pendingId },
  { status: 409, key: unlimited, cancel: pendingId },
  { status: 200, key: exhausted },
  { status: 429, key: exhausted },
];

/** Sends the same requests to both. @throws Error if they differ, because the comparison requires equal responses */
export async function checkResponses(servers: Servers): Promise<void> {
  await servers.fill(5_000); // more than the service reads in one batch
  await servers.client.query(SHIP);
  assert.deepEqual(await sendAll('baseline', servers, 1), await sendAll('service', servers, 2));
}

async function sendAll(name: Contender, servers: Servers, pendingId: number) {
  await using contender = await servers.startContender(name);
  const responses = [];
  for (const { status, key, cancel } of createRequests(servers.keys, pendingId)) {
    const response = await fetch(`${contender.url}/v1/store/orders${cancel === undefined ? '' : `/${cancel}`}`, {
      method: cancel === undefined ? 'GET' : 'DELETE',
      headers: key === '' ? {} : { authorization: `Bearer ${key}` },
    });
    const text = await response.text();
    assert.equal(response.status, status, `response of the ${name}: ${text}`);
    responses.push({
      limit: response.headers.get('x-ratelimit-limit'),
      hasRetryAfter: Number(response.headers.get('retry-after')) >= 1,
      body: status < 400 ? hash('sha256', text) : JSON.parse(text).status, // codes and messages may differ
    });
  }
  return responses;
}
