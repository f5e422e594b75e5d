import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { createPetstoreClient } from '../../src/index.ts';
import { startReadmeService } from '../support/shown-programs.ts';
import { startTestService } from '../support/test-service.ts';

test('client.events() reads only as fast as its reader', async () => {
  await using fresh = await startTestService();
  const count = 60_000;
  await fresh.persistence.orders.generateOrders({ count, seed: 1, now: new Date() });
  const client = createPetstoreClient({ baseUrl: fresh.origin, apiKey: 'internal' });
  const events = client.events({ after: '0' });
  await events.next();
  let before = -1;
  // Until all that is on the way between both is full.
  await vi.waitFor(
    () => {
      const { deliveredCount } = fresh.persistence.events;
      const isStill = deliveredCount === before;
      before = deliveredCount;
      expect(isStill).toBe(true);
    },
    { interval: 1_000, timeout: 20_000 },
  );
  expect(before).toBeLessThan(count / 2);
  expect((await events.next()).value).toMatchObject({ id: '2' });
  await events.return();
});

test('the README shows an EventSource that outlasts a 5xx', async () => {
  await using service = await startReadmeService();
  service.faults.push('unavailable', 'cut-response', 'unavailable');
  // The timer of `eventsource` keeps no program running; this one does, until the last event.
  const busy = `
    const timer = setInterval(() => {}, 1_000);
    const { log } = console;
    console.log = (text) => { log(text); if (text.startsWith('2 ')) clearInterval(timer); };
  `;
  const options = ['--import', `data:text/javascript,${encodeURIComponent(busy)}`];
  const env = { ...process.env, PETSTORE_URL: service.origin, PETSTORE_API_KEY: 'internal', NO_COLOR: '1' };
  const cwd = resolve(import.meta.dirname, '../..');
  const { stdout } = await promisify(execFile)('node', [...options, 'examples/trpc-own-events.ts'], { cwd, env });
  expect(stdout).toBe('1 order.imported 1\n2 order.imported 2\n');
});
