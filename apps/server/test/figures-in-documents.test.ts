import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ADDRESS_REQUESTS_IN_FLIGHT_MAX,
  ADDRESS_REQUESTS_PER_MINUTE,
  KEY_REQUESTS_IN_FLIGHT_MAX,
  KEY_WAITING_CALLS_MAX,
  longListsOfPlan,
  PLANS,
} from '@petstore/domain';
import { expect, test } from 'vitest';
import { DEFAULT_BOUNDS as BOUNDS } from '../src/http/app-options.ts';
import { ROOT } from './support/documentation.ts';

const { free, pro, business, enterprise } = PLANS;

const number = new Intl.NumberFormat('en-US').format;
const seconds = (ms: number) => `${ms / 1_000} s`;
const longLists = longListsOfPlan({ name: 'free' });
const longListsOfEnterprise = longListsOfPlan({ name: 'enterprise', limits: PLANS.free.limits });
/** Requests that a plan can keep open by bodies that take as long as they may. */
const slowBodies = (perMinute: number) =>
  Math.min((perMinute * BOUNDS.requestTimeoutMs) / 60_000, KEY_REQUESTS_IN_FLIGHT_MAX);

test.each([
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
  `a Free key holds ${slowBodies(PLANS.free.limits.perMinute)}, Pro ${slowBodies(PLANS.pro.limits.perMinute)}, ` +
    `Business all ${slowBodies(PLANS.business.limits.perMinute)}`,
  `${10 * longLists} of the ${BOUNDS.maxLongLists} lists, ` +
    `${number(10 * KEY_REQUESTS_IN_FLIGHT_MAX)} of the ${number(BOUNDS.maxRequestsInFlight)} requests`,
  `${BOUNDS.maxLongLists / longLists} keys fill the ${BOUNDS.maxLongLists} places`,
  `${Math.ceil(BOUNDS.maxRequestsInFlight / KEY_REQUESTS_IN_FLIGHT_MAX)} Business keys, or ` +
    `${Math.ceil(BOUNDS.maxRequestsInFlight / slowBodies(PLANS.free.limits.perMinute))} Free ones`,
])('docs/security.md states the actual bounds: %s', (statement) => {
  expect(readFileSync(join(ROOT, 'docs/security.md'), 'utf8')).toContain(statement);
});

/** Blanks and line ends are alike, so that a line may be broken anywhere. */
const readWords = (document: string) => readFileSync(join(ROOT, document), 'utf8').replace(/\s+/g, ' ');

/** In whole requests. */
const perSecond = ({ limits }: { limits: { perMinute: number } }) => Math.floor(limits.perMinute / 60);

test.each([
  [
    'docs/ARCHITECTURE.md',
    `a key may have ${free.longListsMax} long lists in flight (Enterprise ${enterprise.longListsMax})`,
  ],
  [
    'docs/guides/limits.md',
    `| long lists of a key, over REST and tRPC together | ${free.longListsMax}; with Enterprise ${enterprise.longListsMax} |`,
  ],
  [
    'docs/guides/limits.md',
    `Free is ${perSecond(free)} request a second, Pro ${perSecond(pro)}, Business ${perSecond(business)}.`,
  ],
  ['docs/guides/follow-orders.md', `Of one key ${KEY_WAITING_CALLS_MAX} calls wait at a time in a server`],
  ['docs/runbook.md', `beyond ${number(BOUNDS.maxWaitingCalls)}, calls are answered without a wait`],
])('%s says what the plans allow: %s', (document, statement) => {
  expect(readWords(document)).toContain(statement);
});

test('the documents name one number for all plans but Enterprise', () => {
  expect([pro.longListsMax, business.longListsMax]).toEqual([free.longListsMax, free.longListsMax]);
});
