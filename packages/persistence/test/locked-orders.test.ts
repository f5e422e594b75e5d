import { setTimeout } from 'node:timers/promises';
import { type OrderId, orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { importOrders, NOW, newOrder, pendingOrder, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const cancel = (id: OrderId) => store.persistence.orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN);

async function storeOrders(count: number): Promise<readonly OrderId[]> {
  const ids = Array.from({ length: count }, (_, i) => orderId(BigInt(i + 1)));
  await importOrders(store, ids.map(pendingOrder));
  return ids;
}

/** Like a job that changes many orders in one transaction. */
async function lock(ids: readonly OrderId[]): Promise<void> {
  await store.query('begin');
  await store.query('select from orders where id = any($1) for update', [`{${ids.join()}}`]);
}

const outcomeOf = (call: Promise<{ readonly applied: boolean }>) =>
  call.then(
    ({ applied }) => (applied ? 'applied' : 'refused'),
    (error: unknown) => (error instanceof StorageUnavailableError ? 'unavailable' : 'failed'),
  );

describe('while another transaction holds orders locked', () => {
  afterEach(() => store.query('rollback'));

  test('commands for others go on, and no session of the database waits', async () => {
    const ids = await storeOrders(40);
    const locked = ids.slice(0, 30);
    await lock(locked);
    let done = 0;
    const calls = locked.map((id) => outcomeOf(cancel(id)).finally(() => done++));
    await setTimeout(150); // all have found theirs locked
    for (const id of ids.slice(30)) expect(await cancel(id)).toMatchObject({ applied: true });
    expect(await store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN)).toMatchObject({ placed: true });
    const { rows } = await store.query(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(rows).toEqual([['0']]);
    expect(done).toBe(0);
    await store.query('rollback');
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['applied']));
  });

  test('their callers are given up after two seconds, each by its own time', async () => {
    const [id = orderId(0n)] = await storeOrders(1);
    await lock([id]);
    const begin = performance.now();
    const early = outcomeOf(cancel(id)).then((outcome) => ({ outcome, waitedMs: performance.now() - begin }));
    await setTimeout(1_600);
    const late = outcomeOf(cancel(id));
    const { outcome, waitedMs } = await early;
    expect(outcome).toBe('unavailable');
    expect(waitedMs).toBeGreaterThan(1_900);
    expect(waitedMs).toBeLessThan(3_000);
    await store.query('rollback');
    expect(await late).toBe('applied');
  });

  test('further callers are refused at once where many wait already', async () => {
    const ids = await storeOrders(40);
    await lock(ids);
    let refused = 0;
    const count = (outcome: string) => {
      if (outcome === 'unavailable') refused++;
      return outcome;
    };
    const waiting = ids.flatMap((id) => Array.from({ length: 5 }, () => outcomeOf(cancel(id)).then(count)));
    await expect.poll(() => refused).toBeGreaterThanOrEqual(60); // before the others have waited for 2 s
    const begin = performance.now();
    expect(await outcomeOf(cancel(ids[0] ?? orderId(0n)))).toBe('unavailable');
    expect(performance.now() - begin).toBeLessThan(1_500); // each of the others waits for 2 s
    await store.query('rollback');
    const outcomes = await Promise.all(waiting);
    // Of the five of an order one is applied; those of some orders were refused, so that no more than 128 waited.
    expect(outcomes.filter((outcome) => outcome === 'applied').length).toBeGreaterThanOrEqual(25);
    expect(outcomes.filter((outcome) => outcome === 'unavailable').length).toBeGreaterThanOrEqual(60);
  });

  test('one that is deleted meanwhile is missing then', async () => {
    const [id = orderId(0n)] = await storeOrders(1);
    await store.query('begin');
    await store.query('delete from orders where id = $1', [id.toString()]);
    const cancelling = cancel(id);
    await setTimeout(100);
    await store.query('commit');
    expect(await cancelling).toEqual({ applied: false, order: undefined });
  });
});

describe('an order that changes after the statement has begun', () => {
  beforeEach(() =>
    store.query(
      `create function pause() returns trigger language plpgsql as $$ begin
         if old.id = 1 then perform pg_sleep(0.3); end if;
         return new;
       end $$;
       create trigger pause before update on orders for each row execute function pause()`,
    ),
  );
  afterEach(() => store.query('drop trigger pause on orders; drop function pause'));

  test.each([
    [`quantity = 5`, { applied: true, order: { status: 'cancelled', quantity: 5 } }],
    [`status = 'shipped', shipped_at = now()`, { applied: false, order: { status: 'shipped' } }],
  ])('is found as it then is (%s)', async (change, transition) => {
    const [first = orderId(0n), second = orderId(0n)] = await storeOrders(2);
    const cancelling = Promise.all([cancel(first), cancel(second)]); // one statement, which pauses between the two
    await expect
      .poll(() =>
        store.query(`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`),
      )
      .toMatchObject({ rowCount: 1 });
    await store.query(`update orders set ${change} where id = ${second}`);
    expect(await cancelling).toMatchObject([{ applied: true }, transition]);
    const { rows } = await store.query(
      `select order_id, quantity from order_events where type = 'order.cancelled' order by id`,
    );
    expect(rows).toEqual(
      transition.applied
        ? [
            ['1', '1'],
            ['2', '5'],
          ]
        : [['1', '1']],
    );
  });
});

test.each(['40001', '40P01'])(
  'a command that PostgreSQL undoes because of others is tried again (%s)',
  async (state) => {
    await store.query(
      `create sequence losses;
     create function lose() returns trigger language plpgsql as $$ begin
       if nextval('losses') <= 3 then raise exception 'lost' using errcode = '${state}'; end if;
       return new;
     end $$;
     create trigger lose before update on orders for each row execute function lose()`,
    );
    const ids = await storeOrders(3);
    const transitions = await Promise.all(ids.map(cancel));
    await store.query('drop trigger lose on orders; drop function lose; drop sequence losses');
    expect(transitions.map(({ applied }) => applied)).toEqual([true, true, true]);
  },
);

describe('an order that a trigger of the operator keeps as it is', () => {
  beforeEach(() =>
    store.query(
      `create function keep_some() returns trigger language plpgsql as $$ begin
         if old.id = 2 then raise exception 'order % stays', old.id; end if;
         if old.id = 3 then return null; end if;
         return new;
       end $$;
       create trigger keep_some before update on orders for each row execute function keep_some()`,
    ),
  );
  afterEach(() => store.query('drop trigger keep_some on orders; drop function keep_some'));

  test('fails for its own callers alone', async () => {
    const ids = await storeOrders(5);
    const outcomes = await Promise.all(ids.map((id) => outcomeOf(cancel(id))));
    // One that stays without an error cannot be told from one that is locked.
    expect(outcomes).toEqual(['applied', 'failed', 'unavailable', 'applied', 'applied']);
    await expect(cancel(orderId(2n))).rejects.toThrow('order 2 stays');
  });
});
