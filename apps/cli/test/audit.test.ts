import { userInfo } from 'node:os';
import { type Actor, actor, petId } from '@petstore/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { expectKey, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();
beforeEach(() => commandLine.clear());

const ME = `operator:${userInfo().username}`;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const audit = (...args: string[]) => commandLine.json(['audit', ...args]);
const actionsOf = async (...args: string[]) =>
  ((await audit(...args)) as { action: string; actor: string }[]).map((entry) => `${entry.action} ${entry.actor}`);

const createKey = async (...args: string[]) =>
  expectKey(await commandLine.json(['keys', 'create', '--plan', 'free', ...args]));

describe('audit', () => {
  test('lists each change of a key, newest first, and nothing secret', async () => {
    const { id, key } = await createKey('--name', 'till 3', '--read-only');
    await commandLine.json(['keys', 'set-plan', id, '--plan', 'pro', '--as', 'Ada Lovelace']);
    const rotated = expectKey(await commandLine.json(['keys', 'rotate', id]));
    await commandLine.json(['keys', 'set-plan', id, '--plan', 'business', '--as', 'Ada Lovelace']);
    await commandLine.json(['keys', 'revoke', id, '--as', 'grace']);
    const entries = await audit('--key', id);
    const entry = (action: string, who: string) => ({
      at: expect.stringMatching(TIME),
      action,
      orderId: null,
      keyId: id,
      actor: who,
      requestId: null,
    });
    expect(entries).toEqual([
      entry('key.revoked', 'operator:grace'),
      entry('key.plan_changed', 'operator:Ada Lovelace'),
      entry('key.rotated', ME),
      entry('key.plan_changed', 'operator:Ada Lovelace'),
      { ...entry('key.created', ME), readOnly: true },
    ]);
    for (const secret of [key, rotated.key]) expect(JSON.stringify(entries)).not.toContain(secret.slice(-20));
  });

  test('has no row for what changes nothing', async () => {
    const { id } = await createKey();
    await commandLine.json(['keys', 'set-plan', id, '--plan', 'free']);
    await commandLine.json(['keys', 'revoke', id]);
    await commandLine.json(['keys', 'revoke', id, '--as', 'grace']);
    await commandLine.run(['keys', 'rotate', id]);
    expect(await actionsOf('--key', id)).toEqual([`key.revoked ${ME}`, `key.created ${ME}`]);
  });

  test('lists each transition of an order, with the key and the request', async () => {
    const { orders } = commandLine.persistence;
    const { id: keyId } = await createKey('--internal');
    const now = new Date();
    const facts = { petId: petId(7n), quantity: 1, placedAt: now, status: 'pending', complete: false } as const;
    const { order: placed } = await orders.insertOrder(facts, { actor: actor('key', keyId), requestId: 'request-1' });
    await orders.applyCommand(placed.id, 'cancel', now, { actor: actor('key', keyId), requestId: 'request-2' });
    await orders.applyCommand(placed.id, 'ship', now, { actor: actor('key', keyId) }); // it is refused
    await orders.insertOrder(facts, { actor: 'operator:x' as Actor });
    const common = { orderId: 1, keyId, actor: `key:${keyId}` };
    const expected = [
      { at: now.toISOString(), action: 'order.cancelled', ...common, requestId: 'request-2' },
      { at: now.toISOString(), action: 'order.placed', ...common, requestId: 'request-1' },
    ];
    expect(await audit('--order', '1')).toEqual(expected);
    expect(await audit('--key', keyId)).toEqual([...expected, expect.objectContaining({ action: 'key.created' })]);
    expect(await audit('--key', keyId, '--limit', '1')).toEqual(expected.slice(0, 1));
  });

  test('names who imported and generated orders, their ids in all digits', async () => {
    const line = (id: bigint) => `{"id":${id},"petId":1,"quantity":1,"complete":false}\n`;
    const stdin = line(9_223_372_036_854_775_807n) + line(-5n);
    await commandLine.json(['orders', 'import', '-', '--as', 'ada'], { stdin });
    await commandLine.json(['orders', 'generate', '--count', '1']);
    expect(await audit('--order', '9223372036854775807')).toMatchObject([
      { action: 'order.imported', orderId: 9_223_372_036_854_775_807n, keyId: null, actor: 'operator:ada' },
    ]);
    expect(await actionsOf('--order', '-5')).toEqual(['order.imported operator:ada']);
    expect(await actionsOf('--limit', '1')).toEqual([`order.imported ${ME}`]);
  });

  test('begins at --since', async () => {
    const { orders } = commandLine.persistence;
    for (const day of ['01', '02', '03']) {
      const placedAt = new Date(`2026-01-${day}T12:00:00Z`);
      const facts = { petId: petId(1n), quantity: 1, placedAt, status: 'pending', complete: false } as const;
      await orders.insertOrder(facts, { actor: 'operator:x' as Actor });
    }
    const ordersSince = async (since: string) =>
      ((await audit('--since', since)) as { orderId: number | null }[]).map((entry) => entry.orderId).filter(Boolean);
    expect(await ordersSince('2026-01-02T12:00:00Z')).toEqual([3, 2]);
    expect(await ordersSince('99999d')).toEqual([3, 2, 1]);
    expect(await ordersSince('1h')).toEqual([]);
  });

  test('says so if there are no changes', async () => {
    const nothing = await commandLine.run(['audit', '--order', '404']);
    expect(nothing).toEqual({ code: 0, stdout: '', stderr: 'No changes.\n' });
    expect(await audit('--order', '404')).toEqual([]);
  });
});
