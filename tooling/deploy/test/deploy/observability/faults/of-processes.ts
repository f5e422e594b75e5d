import { setTimeout as sleep } from 'node:timers/promises';
import { createServerDatabase, importDemoOrders, KEYS } from '@petstore/server/test-support/database';
import { startServer } from '@petstore/server/test-support/spawned-server';
import { createTestRedis } from '@petstore/testing';
import type { FaultRecordings } from '../support/fault-recordings.ts';
import { type Observed, WatchedServer } from '../support/watched-server.ts';

const TEN_DAYS_MS = 10 * 86_400_000;
/** Keeps most of the heap in use. The young generation is small, so the heap's limit is nearly that of the old one. */
const LEAKING = `--max-old-space-size=200 --max-semi-space-size=1 --import=${new URL('./leak.ts', import.meta.url)}`;

/** Injects the faults of processes, of which two serve side by side. */
export async function recordFaultsOfProcesses(recordings: FaultRecordings): Promise<void> {
  await using database = await createServerDatabase();
  await using redis = await createTestRedis();
  await importDemoOrders(database.url);
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  const start = async (more: Record<string, string> = {}) => {
    const { server } = await startServer({ ...environment, ...more });
    return WatchedServer.of(server);
  };
  const [one, other] = [await start(), await start()];
  const [healthy, healthyOther] = await Promise.all([one.observe(), other.observe()]);

  const starving = starve(one);
  recordings.add('processor taken away', { healthy, faulty: await one.observe({ ms: 4_000, delays: 'event loop' }) });
  await recordings.follow('PetstoreEventLoopLag', { watched: one, environment });
  await starving[Symbol.asyncDispose]();

  await one.server.stop('SIGKILL');
  recordings.add(
    'one server killed',
    { healthy, faulty: 'down' },
    { healthy: healthyOther, faulty: await other.observe() },
  );
  await recordings.follow('PetstoreServerUnavailable', { watched: one, environment });
  await other.server.stop('SIGKILL');
  recordings.add('all servers killed', { healthy, faulty: 'down' }, { healthy: healthyOther, faulty: 'down' });
  await recordings.follow('PetstoreDown', { watched: one, environment });

  const faulty: Observed[] = [];
  for (let i = 0; i < 3; i++) {
    const again = await start();
    faulty.push(await again.observe({ ms: 500 }));
    if (i === 2) await recordings.follow('PetstoreRestarting', { watched: again, environment });
    await again.server.stop('SIGKILL');
  }
  recordings.add('server restarted', { healthy, faulty });
  recordings.addHealth([healthy, faulty[0] as Observed], healthyOther); // the loop has added three

  const leaking = await start({ NODE_OPTIONS: LEAKING });
  recordings.add('memory leaks', { healthy, faulty: await leaking.observe() });
  await recordings.follow('PetstoreMemoryNearLimit', { watched: leaking, environment });
  await leaking.server.stop();

  const ending = await start({ PETS_SUNSET_AT: new Date(Date.now() + TEN_DAYS_MS).toISOString().slice(0, 10) });
  recordings.add('sunset in ten days', { healthy, faulty: await ending.observe() });
  await recordings.follow('PetstoreSunsetNear', {
    watched: ending,
    environment,
    names: { W2XCWm6f: KEYS.unlimited.id },
  });
  await ending.server.stop();
}

/** Stops a server again and again, as a machine with too much work does. */
function starve({ server }: WatchedServer): AsyncDisposable {
  const stop = new AbortController();
  const starving = (async () => {
    while (!stop.signal.aborted) {
      server.process.kill('SIGSTOP');
      await sleep(300);
      server.process.kill('SIGCONT');
      await sleep(100);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await starving;
    },
  };
}
