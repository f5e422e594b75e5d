import { StorageUnavailableError } from '@petstore/domain';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StorageWatch } from '../src/operations/storage-watch.ts';

describe('a storage watch', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  const AWAY = new StorageUnavailableError('away');

  function createWatch() {
    const events: string[] = [];
    const state: { failure: Error | undefined; hangs: boolean; isReadOnly: boolean } = {
      failure: undefined,
      hangs: false,
      isReadOnly: false,
    };
    const respondingTo = async (what: string) => {
      events.push(what);
      if (state.hangs) await new Promise(() => {});
      if (state.failure) throw state.failure;
    };
    const watch = new StorageWatch({
      async ping() {
        await respondingTo('ping');
        return { isReadOnly: state.isReadOnly };
      },
      prepare: () => respondingTo('prepare'),
      onChange: (change) => void events.push(change),
      onFatal: () => void events.push('fatal'),
    });
    return { watch, events, state };
  }

  test('prepares the storage when it is available, and then pings it', async () => {
    const { watch, events } = createWatch();
    await watch.start();
    expect(watch.isAvailable).toBe(true);
    await vi.advanceTimersByTimeAsync(1_050);
    expect(events).toEqual(['prepare', 'ping', 'up', 'ping', 'ping']);
    watch.stop();
  });

  test('notices an outage within half a second and its end within a quarter, and prepares the storage again', async () => {
    const { watch, events, state } = createWatch();
    await watch.start();
    state.failure = AWAY;
    await vi.advanceTimersByTimeAsync(500);
    expect(watch).toMatchObject({ isAvailable: false, awayReason: AWAY });
    state.failure = undefined;
    await vi.advanceTimersByTimeAsync(250);
    expect(watch).toMatchObject({ isAvailable: true, awayReason: undefined });
    expect(events).toEqual(['prepare', 'ping', 'up', 'ping', 'away', 'prepare', 'ping', 'up']);
    watch.stop();
  });

  test('treats a hanging storage as unavailable', async () => {
    const { watch, state } = createWatch();
    await watch.start();
    state.hangs = true;
    await vi.advanceTimersByTimeAsync(2_500);
    expect(watch.isAvailable).toBe(false);
    watch.stop();
  });

  test('says what was seen last where a look takes longer than a quarter of a second', async () => {
    const { watch, state } = createWatch();
    await watch.start();
    state.hangs = true;
    await vi.advanceTimersByTimeAsync(200);
    let checked: string | undefined;
    void watch.check().then((seen) => {
      checked = seen;
    });
    await vi.advanceTimersByTimeAsync(250);
    expect(checked).toBe('up');
    watch.stop();
  });

  test('counts a storage that is read-only as one that can be read', async () => {
    const { watch, events, state } = createWatch();
    state.isReadOnly = true;
    await watch.start();
    expect(watch).toMatchObject({ isAvailable: true, state: 'read-only' });
    state.isReadOnly = false;
    await vi.advanceTimersByTimeAsync(500);
    expect(events).toEqual(['prepare', 'ping', 'read-only', 'ping', 'up']);
    watch.stop();
  });

  test('reports errors that do not pass as fatal', async () => {
    const { watch, events, state } = createWatch();
    state.failure = new Error('newer');
    await expect(watch.start()).rejects.toThrow('newer');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(events).toEqual(['prepare', 'fatal']);
  });

  test('shares one check between concurrent callers', async () => {
    const { watch, events } = createWatch();
    await watch.start();
    await vi.advanceTimersByTimeAsync(400);
    await Promise.all([watch.check(), watch.check(), watch.check()]);
    expect(events).toEqual(['prepare', 'ping', 'up', 'ping']);
    watch.stop();
  });
});
