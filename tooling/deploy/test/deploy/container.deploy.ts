import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createTestDatabase, createTestRedis } from '@petstore/testing';
import { validate } from 'dockerfile-utils';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../../src/build-folder.ts';
import { useBuiltFolder } from '../support/built-folder.ts';
import { DOCKERFILE, Image } from '../support/image.ts';

const built = useBuiltFolder();
let image: Image;
beforeAll(() => {
  image = new Image(built());
});
afterAll(() => image?.[Symbol.dispose]());

/** Of a process: its line in /proc/PID/status. */
const statusOf = (pid: number, name: string) =>
  new RegExp(`^${name}:\\t(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];

test('a container serves as an ordinary user and process 1, with nothing to write to, and ends with 0 at SIGTERM', async () => {
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  const environment = {
    DATABASE_URL_FILE: image.addSecret('database-url', `${database.url}\n`),
    REDIS_URL_FILE: image.addSecret('redis-url', redis.url),
    // No reason to look for who has started it: process 1 has no parent.
    npm_lifecycle_event: 'start',
  };
  expect(image.stage.environment).toEqual({
    NODE_ENV: 'production',
    LOG_FORMAT: 'json',
    HOST: '0.0.0.0',
    ADMIN_HOST: '0.0.0.0',
  });
  // Here the network is the machine's.
  const loopback = { HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1', PORT: '0' };
  await using container = image.run({ ...environment, ...loopback });
  const { adminUrl } = await container.urls();
  const pid = await container.firstPid;
  expect(statusOf(pid, 'NSpid')).toBe(`${pid}\t1`);
  expect(statusOf(pid, 'Uid')).toBe('65532\t65532\t65532\t65532');
  expect([statusOf(pid, 'Gid'), statusOf(pid, 'Groups')?.trim()]).toEqual(['65532\t65532\t65532\t65532', '']);
  expect([statusOf(pid, 'CapEff'), statusOf(pid, 'NoNewPrivs')]).toEqual(['0000000000000000', '1']);

  const key = image.run(environment, ['petstore.js', 'keys', 'create', '--plan', 'free', '--json']);
  expect((await key.exited).code).toBe(0);
  const { publicUrl } = await container.urls();
  const listed = await fetch(`${publicUrl}/v1/store/orders`, {
    headers: { authorization: `Bearer ${JSON.parse(key.stdout).key}` },
  });
  expect([listed.status, await listed.text()]).toEqual([200, '[]']);
  expect((await fetch(`${publicUrl}/docs`)).status).toBe(200);

  // As compose.yaml asks for its health.
  const { services } = parse(readFileSync(join(ROOT, 'deploy/compose.yaml'), 'utf8'));
  const [, node, ...check]: readonly string[] = services.petstore.healthcheck.test;
  expect(image.stage.entrypoint[0]).toBe(node);
  const askWhether = async () => {
    const command = check.map((text) => text.replace('http://127.0.0.1:3001', adminUrl));
    return (await image.run({}, command).exited).code;
  };
  expect(await askWhether()).toBe(0);
  expect(await container.stop('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(container.stdout.trimEnd()).toMatch(/"msg":"stopped"\}$/);
  expect(await askWhether()).toBe(1);
  expect(container.stderr).toBe('');
});

test('a container has no file that it could write, and no program but Node', async () => {
  const script = `
    const fs = process.getBuiltinModule('node:fs');
    const attempt = (work) => { try { work(); return 'done'; } catch ({ code }) { return code; } };
    const folders = ['/', '/petstore', '/petstore/chunks', '/tmp', '/run', '/dev'];
    console.log(JSON.stringify({
      writes: folders.map((folder) => attempt(() => fs.writeFileSync(folder + '/file', ''))),
      programs: fs.readdirSync('/usr/local/bin'),
      shell: fs.existsSync('/bin/sh'),
    }));`;
  await using container = image.run({}, ['--eval', script]);
  expect((await container.exited).code).toBe(0);
  const { writes, programs, shell } = JSON.parse(container.stdout);
  expect(new Set(writes)).toEqual(new Set(['EROFS', 'ENOENT']));
  expect([writes[0], writes[1]]).toEqual(['EROFS', 'EROFS']);
  expect([programs, shell]).toEqual([['node'], false]);
});

test('a container without a database says so in one line, and ends with 2', async () => {
  await using container = image.run({});
  expect((await container.exited).code).toBe(2);
  expect(JSON.parse(container.stderr).msg).toMatch(/^Invalid settings:\n {2}DATABASE_URL is not set, [^\n]+$/);
});

test('the Dockerfile has no mistakes, and brings the Node that is tested', () => {
  expect(validate(DOCKERFILE)).toEqual([]);
  expect(validate('FROM node\nEXPORT 3000\n')).not.toEqual([]);
  const { catalog } = parse(readFileSync(join(ROOT, 'pnpm-workspace.yaml'), 'utf8'));
  const { node, pnpm } = catalog;
  expect(DOCKERFILE).toContain(`FROM node:${node}-bookworm-slim AS build\n`);
  expect(DOCKERFILE).toContain(`npm install --global pnpm@${pnpm}\n`);
  expect(execFileSync(process.execPath, ['--version'], { encoding: 'utf8' })).toBe(`v${node}\n`);
});

test('what the image adds to its base takes less than 170 MB', () => {
  const folderBytes = globSync(built('**')).reduce((sum, file) => sum + statSync(file).size, 0);
  expect(statSync(process.execPath).size + folderBytes).toBeLessThan(170_000_000);
});
