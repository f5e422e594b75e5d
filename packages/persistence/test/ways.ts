import { randomBytes } from 'node:crypto';
import { generateApiKeyId, orderId, petId, SERVICE_ACTOR, SERVICE_ORIGIN } from '@petstore/domain';
import type { Persistence } from '../src/index.ts';
import { collect, NOW, newOrder, numbered, pendingOrder, UNKNOWN_KEY_ID } from './support.ts';

export type Way = (persistence: Persistence) => Promise<unknown>;

/** `ping`, and `orders.insertOrder`, for all that the door offers. */
type WayName = Exclude<
  {
    [Part in Exclude<keyof Persistence & string, 'close' | 'load' | 'observe'>]: Persistence[Part] extends (
      ...args: never[]
    ) => unknown
      ? Part
      : `${Part}.${keyof Persistence[Part] & string}`;
  }[Exclude<keyof Persistence & string, 'close' | 'load' | 'observe'>],
  // These ask nothing of PostgreSQL.
  | 'events.followerCount'
  | 'events.stalledMs'
  | 'events.lagMs'
  | 'events.deliveredCount'
  | 'events.wakeFollowers'
  | 'events.close'
  | 'sequences.behind'
>;

/** Every way to PostgreSQL there is: a new one does not compile until it is here, too. */
export const WAYS = {
  ping: ({ ping }) => ping(),
  'migrations.status': ({ migrations }) => migrations.status(),
  'migrations.assertMigrated': ({ migrations }) => migrations.assertMigrated(),
  'migrations.migrate': ({ migrations }) => migrations.migrate(),
  'sequences.findBehind': ({ sequences }) => sequences.findBehind(),
  'sequences.align': ({ sequences }) => sequences.align(),
  'sequences.alignOne': ({ sequences }) => sequences.alignOne('orders_id_seq'),
  'sequences.repairing': ({ sequences, audit }) => sequences.repairing(() => audit.read({ limit: 1 })),
  'orders.applyCommand': ({ orders }) => orders.applyCommand(orderId(1n), 'cancel', NOW, SERVICE_ORIGIN),
  'orders.insertOrder': ({ orders }) => orders.insertOrder(newOrder(), SERVICE_ORIGIN),
  'orders.findOrder': ({ orders }) => orders.findOrder(orderId(1n)),
  'orders.findOrders': ({ orders }) => orders.findOrders({ filter: {}, limit: 1 }),
  'orders.findOrders, a search': ({ orders }) => orders.findOrders({ filter: { complete: true }, limit: 1 }),
  'orders.listOrders': ({ orders }) => collect(orders.listOrders()),
  'orders.listOrderTexts': ({ orders }) => collect(orders.listOrderTexts()),
  'orders.countOrders': ({ orders }) => orders.countOrders('pending'),
  'orders.importOrders': ({ orders }) => orders.importOrders(numbered([pendingOrder(1n)])),
  'orders.generateOrders': ({ orders }) => orders.generateOrders({ count: 1, seed: 1, now: NOW }),
  'pets.countPets': ({ pets }) => pets.countPets(),
  'pets.findPet': ({ pets }) => pets.findPet(petId(1n)),
  'pets.importPets': ({ pets }) => pets.importPets(numbered([{ id: petId(1n), name: 'Rex' }])),
  'pets.listPets': ({ pets }) => collect(pets.listPets()),
  'apiKeys.findSecret': ({ apiKeys }) => apiKeys.findSecret(new Uint8Array(32)),
  'apiKeys.markKeyUsed': ({ apiKeys }) => apiKeys.markKeyUsed(UNKNOWN_KEY_ID, NOW),
  'keyAdministration.createKey': ({ keyAdministration }) =>
    keyAdministration.createKey(
      {
        id: generateApiKeyId(randomBytes),
        name: 'test',
        kind: 'external',
        readOnly: false,
        plan: { name: 'free' },
        createdAt: NOW,
      },
      randomBytes(32),
    ),
  'keyAdministration.listKeys': ({ keyAdministration }) => keyAdministration.listKeys(),
  'keyAdministration.findKey': ({ keyAdministration }) => keyAdministration.findKey(UNKNOWN_KEY_ID),
  'keyAdministration.rotateKey': ({ keyAdministration }) =>
    keyAdministration.rotateKey(UNKNOWN_KEY_ID, { secretHash: randomBytes(32), now: NOW, overlapEndsAt: NOW }),
  'keyAdministration.revokeKey': ({ keyAdministration }) => keyAdministration.revokeKey(UNKNOWN_KEY_ID, NOW),
  'keyAdministration.setPlan': ({ keyAdministration }) =>
    keyAdministration.setPlan(UNKNOWN_KEY_ID, { name: 'pro' }, NOW),
  'audit.recordBan': ({ audit }) =>
    audit.recordBan({ action: 'ban.set', at: NOW, actor: SERVICE_ACTOR, keyId: UNKNOWN_KEY_ID }),
  'audit.read': ({ audit }) => audit.read({ limit: 1 }),
  'events.followEvents': async ({ events }) => {
    const stop = new AbortController();
    await events.followEvents('now', stop.signal);
    stop.abort();
  },
  'events.readEvents': ({ events }) => events.readEvents('now', 1),
  'events.deleteExpired': ({ events }) =>
    events.deleteExpired({ eventsBefore: NOW, now: NOW, signal: new AbortController().signal }),
} satisfies Record<WayName | 'orders.findOrders, a search', Way>;
