// The lines of docs/operations.md by which an operator sees whether a proxy is right.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  createTemporaryFolder,
  createTestDatabase,
  createTestRedis,
  findFreePort,
  SELF_SIGNED,
} from '@petstore/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';
import { useBuiltFolder } from '../support/built-folder.ts';
import { type NginxLines, startNginx, startNginxWith } from '../support/nginx.ts';
import { Program } from '../support/program.ts';

interface Line {
  readonly command: string;
  readonly shown: string;
}

function readLines(): readonly Line[] {
  const document = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, section = ''] = document.split('\n## Behind a proxy\n');
  const [, block = ''] = /```console\n\$ (.*?)```/s.exec(section) ?? [];
  return block.split(/^\$ /m).map((text) => {
    const [command = '', ...shown] = text.split('\n');
    return { command, shown: shown.join('\n') };
  });
}

const LINES = readLines();
const built = useBuiltFolder();
const temporary = createTemporaryFolder();
const resources = new AsyncDisposableStack();
const certificate = join(temporary.path, 'certificate.pem');
let server: { readonly port: number; readonly adminPort: number };
let auth: string;
let clients = 0;

beforeAll(async () => {
  resources.use(temporary);
  writeFileSync(certificate, SELF_SIGNED.cert);
  const database = resources.use(await createTestDatabase());
  const redis = resources.use(await createTestRedis());
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  const create = [built('petstore.js'), 'keys', 'create', '--plan', 'business', '--json'];
  auth = `Authorization: Bearer ${JSON.parse(execFileSync(process.execPath, create, { env: environment, encoding: 'utf8' })).key}`;
  server = { port: await findFreePort(), adminPort: await findFreePort() };
  const ports = { PORT: `${server.port}`, ADMIN_PORT: `${server.adminPort}` };
  const settings = { ...environment, ...ports, TRUST_PROXY: '127.0.0.1' };
  await resources.use(new Program([process.execPath, built('server.js')], settings)).urls();
});
afterAll(() => resources.disposeAsync());

/** Runs the lines, in their order, as soon as the proxy listens. @returns what each printed */
async function run(url: string, proxy: Program): Promise<readonly Line[]> {
  const isListening = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
    });
  await vi.waitUntil(() => !proxy.isRunning || isListening(), { timeout: 20_000 });
  if (!proxy.isRunning) throw new Error(`The proxy ended:\n${proxy.stdout}${proxy.stderr}`);
  const env = { PATH: process.env['PATH'], CURL_CA_BUNDLE: certificate, url, auth };
  return LINES.map(({ command }) => {
    const { stdout, stderr } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8' });
    return { command, shown: stdout + stderr };
  });
}

test('through nginx as deploy configures it, each line prints what the page shows', async () => {
  const port = await findFreePort();
  const folder = join(temporary.path, 'deploy');
  await using proxy = startNginx({ folder, port, serverPorts: [server.port] });
  expect(LINES).toHaveLength(6);
  expect(await run(`https://localhost:${port}`, proxy)).toEqual(LINES);
});

/** Caches what it must not, for everybody. */
const caching = (statuses: string): NginxLines => ({
  http: 'proxy_cache_path FOLDER/cache keys_zone=all:1m use_temp_path=off;',
  location: `proxy_cache all; proxy_cache_key $uri; proxy_cache_valid ${statuses} 1m; proxy_ignore_headers Cache-Control; proxy_cache_lock on;`,
});

/** The numbers of the lines that show what is wrong, from 1. */
test.each<[does: string, lines: NginxLines, differing: readonly number[]]>([
  ['does no more than it must', {}, []],
  ['removes Authorization', { location: 'proxy_set_header Authorization "";' }, [2, 3, 4, 5, 6]],
  ['changes Cache-Control', { location: 'proxy_hide_header Cache-Control; add_header Cache-Control public;' }, [2]],
  ['removes other headers', { location: 'proxy_hide_header X-RateLimit-Remaining;' }, [3, 4]],
  ['caches lists', caching('200'), [3, 4]],
  ['caches refusals', caching('401'), [4]],
  ['answers errors by itself', { location: 'proxy_intercept_errors on; error_page 400 401 404 @page;' }, [3, 4, 5, 6]],
  ['lets callers say their address', { forwarded: '' }, [4]],
  ['decodes paths', { path: '/' }, [5]],
  ['refuses DELETE', { location: 'limit_except GET POST { deny all; }' }, [5]],
  ['refuses large bodies', { location: 'client_max_body_size 32k;' }, [6]],
])('nginx that %s is seen', async (does, lines, differing) => {
  const port = await findFreePort();
  const folder = join(temporary.path, does.replaceAll(' ', '-'));
  const place = { folder, port, serverPort: server.port, clientAddress: `198.51.100.${++clients}` };
  await using proxy = startNginxWith(place, lines);
  const seen = await run(`http://127.0.0.1:${port}`, proxy);
  const found = seen.flatMap(({ shown }, i) => (shown === LINES[i]?.shown ? [] : [i + 1]));
  expect(found, JSON.stringify(seen, undefined, 1)).toEqual(differing);
});
