import { randomInt } from 'node:crypto';
import { breaks, NotSeenError, type Promised } from './findings.ts';
import type { Installation } from './installation.ts';
import { expectHeaders, expectOutcome, GET_LIST } from './requests.ts';

/** What several answers show together, without a key. */
export const comparePromises = (at: Installation): readonly Promised[] => [
  {
    check: 'a document that is known already is 304',
    async look() {
      const document = await at.ask('GET /v1/openapi.json');
      expectHeaders(document, ['ETag']);
      const tag = document.headers.get('etag') ?? '';
      const again = await at.ask('GET /v1/openapi.json', { headers: { 'if-none-match': tag } });
      expectOutcome(again, ['304'], 'validators');
      return '304';
    },
  },
  {
    check: 'browsers of other origins get no permission to read',
    async look() {
      const { headers } = await at.ask(GET_LIST, { headers: { origin: 'https://other.invalid' } });
      const allowed = headers.get('access-control-allow-origin');
      if (allowed === null) return 'no Access-Control-Allow-Origin';
      throw breaks(`Access-Control-Allow-Origin: ${allowed}`, 'cors');
    },
  },
  { check: 'no caller chooses its address by X-Forwarded-For', look: () => lookAtAddresses(at) },
];

/**
 * Callers without a key are counted by their address, and to one that was never seen the answer is that all but one
 * request remain. The made-up addresses are reserved for documents (RFC 3849): nobody is counted in vain.
 */
async function lookAtAddresses(at: Installation): Promise<string> {
  const countAs = async (headers: Record<string, string>) => {
    const answer = await at.ask(GET_LIST, { headers });
    const numberIn = (name: string) => Number(answer.headers.get(name) ?? Number.NaN);
    return { limit: numberIn('x-ratelimit-limit'), remaining: numberIn('x-ratelimit-remaining') };
  };
  const randomPart = () => randomInt(0x1_0000).toString(16);
  const countMadeUp = () => countAs({ 'x-forwarded-for': `2001:db8:${randomPart()}:${randomPart()}::1` });
  const own = await countAs({});
  const madeUp = [await countMadeUp(), await countMadeUp()];
  if ([own, ...madeUp].some(({ remaining }) => Number.isNaN(remaining))) {
    throw new NotSeenError('no answer tells how many requests remain');
  }
  const isNew = madeUp.every(({ limit, remaining }) => remaining === limit - 1 && remaining > own.remaining);
  if (isNew) throw breaks('two made-up addresses had limits of their own', 'forwarded');
  return 'made-up addresses count for the real one';
}
