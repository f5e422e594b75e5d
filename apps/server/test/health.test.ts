import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailableError } from '@petstore/domain';
import type { Availability } from '@petstore/persistence';
import { describe, expect, test } from 'vitest';
import { StorageWatch } from '../src/operations/storage-watch.ts';

describe('a storage watch', () => {
  const AWAY = new StorageUnavailableError('away');
  const READ_ONLY = new StorageUnavailableError('read-only');
  const UP = { state: 'up', failure: undefined } as const;

  /** A watch of a storage that is seen as told, and whose preparation ends as told. */
  function createWatch() {
    const events: string[] = [];
    const told: { seen: Availability; preparation: () => Promise<void>; ping: () => Promise<void> } = {
      seen: UP,
      preparation: async () => {},
      ping: async () => {},
    };
    let look = () => {};
    const watch = new StorageWatch({
      storage: {
        observe: (observer) => {
          look = () => observer(told.seen);
        },
        async ping() {
          await told.ping();
          look();
          if (told.seen.failure !== undefined) throw told.seen.failure;
        },
      },
      async prepare() {
        events.push('prepare');
        await told.preparation();
      },
      onChange: (change) => void events.push(change),
      onFatal: () => void events.push('fatal'),
    });
    const see = async (seen: Availability) => {
      told.seen = seen;
      look();
      await sleep(1); // its preparation ends
    };
    return { watch, events, told, see };
  }

  test('prepares the storage when it is there, and again when it is back', async () => {
    const { watch, events, see } = createWatch();
    await watch.start();
    expect(watch.isAvailable).toBe(true);
    await see({ state: 'unavailable', failure: AWAY });
    await see({ state: 'unavailable', failure: AWAY });
    expect(watch.isAvailable).toBe(false);
    expect(await watch.check()).toEqual({ state: 'unavailable', reason: AWAY });
    await see(UP);
    await see(UP);
    expect(await watch.check()).toEqual({ state: 'up', reason: undefined });
    expect(events).toEqual(['prepare', 'up', 'unavailable', 'prepare', 'up']);
  });

  test('is not available before it is prepared, and tries again when that was not possible', async () => {
    const { watch, events, told, see } = createWatch();
    told.preparation = () => Promise.reject(AWAY);
    await watch.start();
    expect(watch.isAvailable).toBe(false);
    told.preparation = async () => {};
    await see(UP);
    expect(watch.isAvailable).toBe(true);
    expect(events).toEqual(['prepare', 'unavailable', 'prepare', 'up']);
  });

  test('says what was seen last if to look takes longer than a quarter of a second', async () => {
    const { watch, told } = createWatch();
    await watch.start();
    told.ping = () => new Promise(() => {});
    expect(await watch.check()).toMatchObject({ state: 'up' });
  });

  test('is up for the first time when it can be written, not while it is read-only', async () => {
    const { watch, events, told, see } = createWatch();
    told.seen = { state: 'read-only', failure: READ_ONLY };
    await watch.start();
    void watch.firstUp.then(() => events.push('first up'));
    await see(told.seen);
    expect(watch).toMatchObject({ isAvailable: false, state: 'read-only' });
    expect(await watch.check()).toEqual({ state: 'read-only', reason: READ_ONLY });
    expect(events).toEqual(['read-only']);
    await see(UP);
    expect(events).toEqual(['read-only', 'prepare', 'up', 'first up']);
  });

  test('reports errors that do not pass as fatal, and looks no more', async () => {
    const { watch, events, told, see } = createWatch();
    told.preparation = () => Promise.reject(new Error('newer'));
    await expect(watch.start()).rejects.toThrow('newer');
    await see(UP);
    expect(events).toEqual(['prepare', 'fatal']);
  });
});
