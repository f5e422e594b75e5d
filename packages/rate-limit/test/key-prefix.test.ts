import { createTestRedis } from '@petstore/testing';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { connectRedis, RateLimitAdministration } from '../src/index.ts';
import { eventually, openLimiter, PATIENT } from './support/fault-scenario.ts';
import { hammer } from './support/hammer.ts';
import { newKey } from './support/traffic.ts';

test('two deployments with prefixes of their own share a Redis and see nothing of each other', async () => {
  await using database = await createTestRedis();
  const { hostname: host, port, pathname } = new URL(database.url);
  const connect = (keyPrefix: string) =>
    connectRedis(
      { type: 'single', host, port: Number(port), database: Number(pathname.slice(1)), tls: false },
      { keyPrefix, ...PATIENT },
    );
  const [shop, clinic, plain] = [connect('shop:'), connect('clinic:'), connect('')];
  using ofShop = await openLimiter({ redis: shop });
  using ofClinic = await openLimiter({ redis: clinic });
  using ofPlain = await openLimiter({ redis: plain });
  const [key, address] = [newKey(2, 100), { name: 'address:192.0.2.1', perMinute: 60, perDay: undefined }];

  await hammer(ofShop.limiter, key);
  await ofShop.limiter.check(address, 60);
  for (const { limiter } of [ofClinic, ofPlain]) {
    expect(await limiter.check(key, 1)).toMatchObject({ outcome: 'admitted', minute: { remaining: 1 } });
    expect(await limiter.check(address, 1)).toMatchObject({ outcome: 'admitted', minute: { remaining: 59 } });
  }

  const bansOf = (redis: typeof shop) => new RateLimitAdministration(redis).listBans();
  await eventually(async () => expect(await bansOf(shop)).toHaveLength(1));
  expect(await bansOf(clinic)).toEqual([]);
  expect(await bansOf(plain)).toEqual([]);
  expect(await new RateLimitAdministration(clinic).liftBan(key.name)).toBeUndefined();
  expect(await new RateLimitAdministration(shop).liftBan(key.name)).toMatchObject({ level: 1 });

  const client = new Redis(database.url);
  const names = await client.keys('*');
  client.disconnect();
  const named = (prefix: string) => [`${prefix}limits:of:address:192.0.2.1`, `${prefix}limits:of:${key.name}`];
  // The probe of a start is a subject, too; an emptied list of bans is gone.
  expect(names.filter((name) => !name.includes('probe')).sort()).toEqual([
    ...named('clinic:'),
    ...named(''),
    ...named('shop:'),
  ]);
});
