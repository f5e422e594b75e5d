import { StorageUnavailableError } from '@petstore/domain';
import { expect, test } from 'vitest';
import { type Availability, type NewConnection, next, type Observation } from '../src/database/availability.ts';
import { HUNG, READ_ONLY } from '../src/database/errors.ts';

const UP: Availability = { state: 'up', failure: undefined };
const BEFORE = {
  nothing: undefined,
  up: UP,
  'read-only': { state: 'read-only', failure: READ_ONLY },
  unavailable: { state: 'unavailable', failure: new StorageUnavailableError('refused') },
} as const satisfies Record<string, Availability | undefined>;

const failing = (code: string) => ({ failure: Object.assign(new Error('failed'), { code }) });
const ANEW = {
  writes: 'takes writes',
  'read-only': 'read-only',
  refused: failing('ECONNREFUSED'),
  'no room': failing('53300'),
  'no login': failing('28P01'),
  silent: { failure: new Error('timeout expired') },
  unreachable: failing('ETIMEDOUT'),
} as const satisfies Record<string, NewConnection>;

type Row = readonly [
  before: keyof typeof BEFORE,
  open: Observation['open'],
  anew: keyof typeof ANEW | 'not opened',
  now: Availability['state'] | 'hung',
  pool: 'as it is' | 'anew',
];

/** What was known, what came of the open connection and of a new one; what is known now, and what becomes of the pool. */
const TABLE: readonly Row[] = [
  ['nothing', 'lost', 'writes', 'up', 'as it is'],
  ['nothing', 'lost', 'read-only', 'read-only', 'as it is'],
  ['nothing', 'lost', 'refused', 'unavailable', 'as it is'],
  ['nothing', 'lost', 'no room', 'unavailable', 'as it is'],
  ['up', 'takes writes', 'not opened', 'up', 'as it is'],
  ['up', 'lost', 'writes', 'up', 'as it is'],
  ['up', 'doubted', 'writes', 'up', 'as it is'],
  // The address leads to another server by now, or the connections of callers do not respond either.
  ['up', 'silent', 'writes', 'up', 'anew'],
  ['up', 'read-only', 'writes', 'up', 'anew'],
  ['up', 'read-only', 'read-only', 'read-only', 'as it is'],
  ['up', 'lost', 'refused', 'unavailable', 'as it is'],
  ['up', 'lost', 'silent', 'hung', 'as it is'],
  ['up', 'silent', 'silent', 'hung', 'as it is'],
  ['up', 'lost', 'unreachable', 'hung', 'as it is'],
  // A server without room is alive, unless callers get no connection, or it takes no writes.
  ['up', 'lost', 'no room', 'up', 'as it is'],
  ['up', 'silent', 'no room', 'up', 'as it is'],
  ['up', 'doubted', 'no room', 'unavailable', 'as it is'],
  ['up', 'read-only', 'no room', 'unavailable', 'as it is'],
  ['up', 'doubted', 'read-only', 'read-only', 'as it is'],
  ['up', 'doubted', 'no login', 'unavailable', 'as it is'],
  // A standby that was promoted.
  ['read-only', 'takes writes', 'not opened', 'up', 'anew'],
  ['read-only', 'read-only', 'writes', 'up', 'anew'],
  ['read-only', 'read-only', 'read-only', 'read-only', 'as it is'],
  ['read-only', 'lost', 'refused', 'unavailable', 'as it is'],
  ['unavailable', 'lost', 'writes', 'up', 'anew'],
  ['unavailable', 'lost', 'no room', 'unavailable', 'as it is'],
  ['unavailable', 'lost', 'silent', 'hung', 'as it is'],
];

test.each(TABLE)('%s; the open connection %s, a new one %s: %s, and the pool %s', (...row) => {
  const [before, open, anew, state, pool] = row;
  const seen = { open, ...(anew !== 'not opened' && { anew: ANEW[anew] }) } as Observation; // as a row has it
  const { now, isPoolRenewed } = next(BEFORE[before], seen);
  expect(now.failure === HUNG ? 'hung' : now.state).toBe(state);
  expect(now.failure === undefined).toBe(now.state === 'up');
  expect(isPoolRenewed ? 'anew' : 'as it is').toBe(pool);
});
