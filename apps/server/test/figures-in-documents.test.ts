import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ADDRESS_REQUESTS_IN_FLIGHT_MAX,
  ADDRESS_REQUESTS_PER_MINUTE,
  hasFixedLimits,
  KEY_REQUESTS_IN_FLIGHT_MAX,
  KEY_WAITING_CALLS_MAX,
  longListsOfPlan,
  PLAN_NAMES,
  PLANS,
  type RequestLimits,
} from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import { DEFAULT_BOUNDS as BOUNDS } from '../src/http/app-options.ts';
import { ROOT } from './support/documentation.ts';

const { free, enterprise } = PLANS;

/** The plans with fixed limits, the smallest first. */
const FIXED = PLAN_NAMES.filter(hasFixedLimits).map((name) => PLANS[name]);

const number = new Intl.NumberFormat('en-US').format;
const seconds = (ms: number) => `${ms / 1_000} s`;
const longLists = longListsOfPlan({ name: 'free' });
const longListsOfEnterprise = longListsOfPlan({ name: 'enterprise', limits: PLANS.free.limits });
/** Requests that a plan can keep open by bodies that take as long as they may. */
const slowBodies = (perMinute: number) =>
  Math.min((perMinute * BOUNDS.requestTimeoutMs) / 60_000, KEY_REQUESTS_IN_FLIGHT_MAX);

/** A figure of each plan: `Free is 1, Pro 5`. @param first the words before the first figure */
const ofEachPlan = (first: string, figureOf: (limits: RequestLimits) => string | number) =>
  FIXED.map(({ label, limits }, i) => `${label} ${i === 0 ? first : ''}${figureOf(limits)}`).join(', ');

/** In whole requests. */
const perSecond = ({ perMinute }: RequestLimits) => {
  const requests = Math.floor(perMinute / 60);
  return requests === 1 ? '1 request a second' : requests;
};

/** How many clients may share a key without a ban, where it is more than with any plan. */
const POOLS = FIXED.map(({ label, limits }) => ({ label, clients: 2 * limits.perMinute })).filter(
  ({ clients }) => clients > 250,
);

const PLAN_ROWS = Object.values(PLANS).map(({ label, limits, longListsMax, purpose }) => {
  const figures =
    typeof limits === 'string' ? ['by agreement', 'by agreement'] : [number(limits.perMinute), number(limits.perDay)];
  return `| ${[label, ...figures, longListsMax, purpose].join(' | ')} |\n`;
});

/** What documents say of figures, and where these come from. */
const STATEMENTS: Readonly<Record<string, readonly string[]>> = {
  'docs/security.md': [
    `${number(BOUNDS.maxBodyBytes)} a request`,
    `${longLists} long lists of a key (Enterprise ${longListsOfEnterprise}), ${BOUNDS.maxLongLists} in all`,
    `takes less than ${BOUNDS.readerMinBytesPerSecond / 1_000} kB/s for ${seconds(BOUNDS.slowReaderTimeoutMs)}, as far`,
    `${KEY_WAITING_CALLS_MAX} of a key and ${number(BOUNDS.maxWaitingCalls)} in all wait`,
    `${KEY_REQUESTS_IN_FLIGHT_MAX} of a key, a batch counting`,
    `${ADDRESS_REQUESTS_IN_FLIGHT_MAX} of an address without a key`,
    `${number(BOUNDS.maxRequestsInFlight)} in all, of which ${number(BOUNDS.maxRequestsInFlightWithoutKey)} without such a key, ` +
      `${BOUNDS.requestsInFlightForLookUps} of them for keys that are being looked up`,
    `a fifth of what is left of ${number(BOUNDS.maxRequestsAhead)} on all connections`,
    `${ADDRESS_REQUESTS_PER_MINUTE} a minute of an address, then five look-ups`,
    `${number(BOUNDS.maxConnections)}, of which ${number(BOUNDS.maxConnectionsPerAddress)} from an address`,
    `${seconds(BOUNDS.headersTimeoutMs)} for the headers, ${seconds(BOUNDS.requestTimeoutMs)} for the whole request`,
    `${seconds(BOUNDS.keepAliveTimeoutMs)} between requests; ${number(BOUNDS.maxHeaderBytes)} bytes of headers`,
    `${number(PLANS.free.limits.perDay)} orders a day with a Free key`,
    ofEachPlan('key holds ', ({ perMinute }) => {
      const held = slowBodies(perMinute);
      return held === KEY_REQUESTS_IN_FLIGHT_MAX ? `all ${held}` : held;
    }),
    `${10 * longLists} of the ${BOUNDS.maxLongLists} lists, ` +
      `${number(10 * KEY_REQUESTS_IN_FLIGHT_MAX)} of the ${number(BOUNDS.maxRequestsInFlight)} requests`,
    `${BOUNDS.maxLongLists / longLists} keys fill the ${BOUNDS.maxLongLists} places`,
    `${Math.ceil(BOUNDS.maxRequestsInFlight / KEY_REQUESTS_IN_FLIGHT_MAX)} Business keys, or ` +
      `${Math.ceil(BOUNDS.maxRequestsInFlight / slowBodies(PLANS.free.limits.perMinute))} Free ones`,
  ],
  'docs/ARCHITECTURE.md': [
    `a key may have ${free.longListsMax} long lists in flight (Enterprise ${enterprise.longListsMax})`,
  ],
  'docs/guides/limits.md': [
    `| --- | --- | --- | --- | --- |\n${PLAN_ROWS.join('')}\n`,
    `client's address, ${ADDRESS_REQUESTS_PER_MINUTE} a minute`,
    `| long lists of a key, over REST and tRPC together | ${free.longListsMax}; with Enterprise ${enterprise.longListsMax} |`,
    `Divided evenly, ${ofEachPlan('is ', perSecond)}.`,
    `up to 250 that share a key (${POOLS.map(({ label, clients }) => `with ${label} ${number(clients)}`).join(', ')})`,
  ],
  'docs/guides/follow-orders.md': [`Of one key ${KEY_WAITING_CALLS_MAX} calls wait at a time in a server`],
  'docs/runbook.md': [`beyond ${number(BOUNDS.maxWaitingCalls)}, calls are answered without a wait`],
};

describe.each(Object.entries(STATEMENTS))('%s states the actual figures', (document, statements) => {
  // A paragraph may be broken into lines anywhere.
  const text = readFileSync(join(ROOT, document), 'utf8').replace(/(?<=[^\n])\n(?=[^\n|])/g, ' ');
  test.each(statements)('%s', (statement) => expect(text).toContain(statement));
});

test('the documents name one number for all plans but Enterprise', () => {
  expect(new Set(FIXED.map(({ longListsMax }) => longListsMax))).toEqual(new Set([free.longListsMax]));
});
