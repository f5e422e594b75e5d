import { StorageUnavailableError } from '@petstore/domain';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LimitCounts, RequestCounts } from '../src/operations/metrics.ts';
import { renderMetrics } from '../src/operations/render-metrics.ts';
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

test('requests are counted into cumulative buckets, by operation and status', () => {
  const metrics = new RequestCounts();
  for (const seconds of [0.001, 0.002, 0.3, 60]) metrics.observeRequest('listOrders', 200, seconds);
  metrics.observeRequest('cancelOrder', 404, 0.004);
  const lines = renderMetrics(metrics, new LimitCounts()).split('\n');
  const bucket = (le: string) =>
    lines.find((line) => line.includes(`le="${le}",operation="listOrders"`))?.split(' ')[1];
  expect([bucket('0.001'), bucket('0.0025'), bucket('0.25'), bucket('0.5'), bucket('10'), bucket('+Inf')]).toEqual([
    '1',
    '2',
    '2',
    '3',
    '3',
    '4',
  ]);
  expect(lines).toContain('petstore_http_request_duration_seconds_sum{operation="listOrders",status="200"} 60.303');
  expect(lines).toContain('petstore_http_request_duration_seconds_count{operation="cancelOrder",status="404"} 1');
});

describe('the use of a deprecated operation', () => {
  const linesOf = (metrics: RequestCounts) =>
    renderMetrics(metrics, new LimitCounts())
      .split('\n')
      .filter((line) => line.startsWith('petstore_deprecated_requests_total'));

  test('is counted by key, and separately without a key', () => {
    const metrics = new RequestCounts();
    for (const keyId of ['aaaaaaaa', 'bbbbbbbb', 'aaaaaaaa', undefined]) {
      metrics.observeDeprecatedUse('getPetById', keyId);
    }
    expect(linesOf(metrics)).toEqual([
      'petstore_deprecated_requests_total{operation="getPetById",key="aaaaaaaa"} 2',
      'petstore_deprecated_requests_total{operation="getPetById",key="bbbbbbbb"} 1',
      'petstore_deprecated_requests_total{operation="getPetById",key=""} 1',
    ]);
  });

  test('makes no more series than 1,000 keys, one without a key, and one for all other keys', () => {
    const metrics = new RequestCounts();
    for (let key = 0; key < 1_500; key++) metrics.observeDeprecatedUse('getPetById', String(key).padStart(8, '0'));
    metrics.observeDeprecatedUse('getPetById', '00000000');
    metrics.observeDeprecatedUse('getPetById');
    const lines = linesOf(metrics);
    expect(lines).toHaveLength(1_002);
    expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key="00000000"} 2');
    expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key=""} 1');
    expect(lines).toContain('petstore_deprecated_requests_total{operation="getPetById",key="other"} 500');
  });
});
