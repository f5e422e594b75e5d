import { expect, test } from 'vitest';
import { boundConnections, readSoftLimit } from '../src/operations/open-files.ts';

function boundWith(softLimit: number | undefined) {
  const logged: unknown[] = [];
  const logger = { warn: (...entry: readonly unknown[]) => void logged.push(entry) };
  return { bound: boundConnections(10_000, logger, softLimit), logged };
}

test.each([undefined, 20_000, 10_100])('with %s open files there may be all connections', (softLimit) => {
  expect(boundWith(softLimit)).toEqual({ bound: 10_000, logged: [] });
});

test.each([
  [1_024, 924],
  [300, 200],
  [64, 10],
])('with %i open files there may be %i connections, and it is logged', (softLimit, bound) => {
  const message = expect.stringMatching(/^too few open files are allowed: .* to 10100 or more$/);
  expect(boundWith(softLimit)).toEqual({ bound, logged: [[{ openFiles: softLimit, connections: bound }, message]] });
});

test('without /proc the limit is unknown, and the server starts', () => {
  expect(readSoftLimit('/proc/no/such/file')).toBeUndefined();
});
