import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createTestRedis } from '@petstore/testing';
import { expect, test } from 'vitest';
import { eventually } from './support/fault-scenario.ts';

const PACKAGE = new URL('..', import.meta.url);

test('the example of the README limits the requests of a Fastify', async () => {
  const [, example = expect.fail()] =
    /```ts\n(import .*?)```/s.exec(readFileSync(new URL('README.md', PACKAGE), 'utf8')) ?? [];
  await using redis = await createTestRedis();
  const { port: redisPort, pathname } = new URL(redis.url);
  const program = example
    .replace('port: 6379, database: 0', `port: ${redisPort}, database: ${pathname.slice(1)}`)
    .replace('await app.listen({ port: 3000 });', "console.log(await app.listen({ port: 0, host: '127.0.0.1' }));");
  const server = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: fileURLToPath(PACKAGE), // so that it imports this package by its name
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [url] = await once(server.stdout, 'data');
    const request = (key: string) => fetch(String(url).trim(), { headers: { 'x-api-key': key } });
    await eventually(async () => expect((await request('first')).status).toBe(429)); // of whichever Redis or process
    const [admitted, , refused] = [await request('demo'), await request('demo'), await request('demo')];
    expect(await admitted.text()).toBe('hello');
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({ code: 'refused' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(58);
  } finally {
    server.kill();
    await once(server, 'exit');
  }
});
