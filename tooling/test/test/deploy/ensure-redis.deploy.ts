import { execFileSync } from 'node:child_process';
import { mkdtempDisposableSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REDIS_STARTER } from '@petstore/testing/find-executable';
import { expect, test } from 'vitest';
import { unpackPackages } from '../../src/debian.ts';
import { unpackRedis } from '../../src/ensure-redis.ts';

const versionOf = (folder: string) =>
  execFileSync(join(folder, REDIS_STARTER), ['--version'], { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } });

test('a Redis server is unpacked in a folder with a blank, and nothing is left beside it', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'ensure-redis-'));
  const redis = join(folder.path, 'with a blank', 'redis');
  expect(unpackRedis(redis)).toBe(true);
  expect(versionOf(redis)).toMatch(/^Redis server v=\d/);
  expect(readdirSync(join(folder.path, 'with a blank'))).toEqual(['redis']);
  // As if another run had been slower.
  expect(unpackRedis(redis)).toBe(true);
  expect(versionOf(redis)).toMatch(/^Redis server v=\d/);
});

test('what cannot be used, or is not there, leaves nothing', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'ensure-redis-'));
  const unusable = join(folder.path, 'unusable');
  expect(unpackPackages(['liblzf1'], unusable, () => false)).toBe(false);
  expect(unpackPackages(['there-is-no-such-package'], unusable)).toBe(false);
  expect(readdirSync(folder.path)).toEqual([]);
});
