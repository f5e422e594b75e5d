import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
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
import { type BalancerName, startBalancer } from '../support/balancers.ts';
import { useBuiltFolder } from '../support/built-folder.ts';
import { Program } from '../support/program.ts';
import {
  type HaproxyLines,
  type NginxLines,
  startHaproxyWith,
  startJsonRewriter,
  startNginxWith,
} from '../support/wrong-proxies.ts';

interface Finding {
  readonly check: string;
  readonly ok: boolean | null;
  readonly seen: string;
}

const built = useBuiltFolder();
const temporary = createTemporaryFolder();
const resources = new AsyncDisposableStack();
const certificate = join(temporary.path, 'certificate.pem');
let environment: Record<string, string>;
let server: { readonly port: number; readonly adminPort: number };
let key: string;
let clients = 0;

const petstore = (args: readonly string[], input = ''): string =>
  execFileSync(process.execPath, [built('petstore.js'), ...args], { env: environment, input, encoding: 'utf8' });

beforeAll(async () => {
  resources.use(temporary);
  writeFileSync(certificate, SELF_SIGNED.cert);
  const database = resources.use(await createTestDatabase());
  const redis = resources.use(await createTestRedis());
  environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  petstore(['orders', 'import', '-'], '{"id":9007199254740993,"petId":7,"quantity":1}\n');
  const created = petstore(['keys', 'create', '--plan', 'business', '--internal', '--json']);
  ({ key } = JSON.parse(created));
  server = { port: await findFreePort(), adminPort: await findFreePort() };
  const ports = { PORT: `${server.port}`, ADMIN_PORT: `${server.adminPort}` };
  const settings = { ...environment, ...ports, TRUST_PROXY: '127.0.0.1' };
  await resources.use(new Program([process.execPath, built('server.js')], settings)).urls();
});
afterAll(() => resources.disposeAsync());

/** Checks the installation behind a proxy that begins to listen. */
async function check(url: string, proxy?: Program): Promise<{ code: number; findings: readonly Finding[] }> {
  const { port } = new URL(url);
  const isListening = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
  await vi.waitUntil(() => proxy?.isRunning === false || isListening(), { timeout: 20_000 });
  if (proxy?.isRunning === false) throw new Error(`The proxy ended:\n${proxy.stdout}${proxy.stderr}`);
  const env = { PETSTORE_API_KEY: key, NODE_EXTRA_CA_CERTS: certificate };
  return new Promise((resolve) => {
    execFile(process.execPath, [built('petstore.js'), 'check', '--json', '--url', url], { env }, (error, stdout) => {
      resolve({ code: Number(error?.code ?? 0), findings: JSON.parse(stdout) });
    });
  });
}

const expectRight = ({ code, findings }: Awaited<ReturnType<typeof check>>) => {
  expect(findings.filter(({ ok }) => !ok)).toEqual([]);
  expect(code).toBe(0);
};

/** Expects that something is broken, and that all of it has this cause. */
const expectCause = ({ code, findings }: Awaited<ReturnType<typeof check>>, cause: string) => {
  const broken = findings.filter(({ ok }) => ok === false);
  expect(broken).not.toEqual([]);
  expect(broken.filter(({ seen }) => !seen.includes(cause))).toEqual([]);
  expect(code).toBe(1);
};

const place = async (name: string) => ({
  folder: join(temporary.path, name),
  port: await findFreePort(),
  serverPort: server.port,
  clientAddress: `198.51.100.${++clients}`,
});

test.each<BalancerName>(['nginx', 'HAProxy'])('%s as deploy configures it keeps every promise', async (name) => {
  const port = await findFreePort();
  const folder = join(temporary.path, `deploy-${name}`);
  await using proxy = startBalancer(name, { folder, port, servers: [server, server] });
  expectRight(await check(`https://localhost:${port}`, proxy));
});

const HIDDEN = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'RateLimit-Policy', 'Allow', 'Sunset'];

test.each<[does: string, lines: NginxLines, cause: string | undefined]>([
  ['does no more than it must', {}, undefined],
  ['buffers', { version: '1.0', location: 'proxy_ignore_headers X-Accel-Buffering;' }, 'buffers'],
  [
    'compresses what it buffers',
    { location: 'proxy_ignore_headers X-Accel-Buffering; gzip on; gzip_types text/event-stream;' },
    'compresses events',
  ],
  ['removes Authorization', { location: 'proxy_set_header Authorization "";' }, 'removes Authorization'],
  ['removes headers', { location: HIDDEN.map((name) => `proxy_hide_header ${name};`).join(' ') }, 'removes headers'],
  ['removes If-None-Match', { location: 'proxy_set_header If-None-Match "";' }, 'removes If-None-Match'],
  ['lets clients say their address', { forwarded: '' }, 'passes X-Forwarded-For on'],
  ['decodes paths', { path: '/' }, 'rewrites paths'],
  ['cuts paths', { location: 'rewrite ^/v1/(.*)$ /$1 break;' }, 'rewrites paths'],
  [
    'answers errors by itself',
    { location: 'proxy_intercept_errors on; error_page 400 401 404 405 410 413 415 @page;' },
    'answers by itself',
  ],
  ['refuses DELETE', { location: 'limit_except GET POST OPTIONS { deny all; }' }, 'answers by itself'],
  ['refuses large bodies', { location: 'client_max_body_size 64k;' }, 'answers by itself'],
  [
    'caches for everybody',
    {
      http: 'proxy_cache_path FOLDER/cache keys_zone=all:1m use_temp_path=off;',
      location:
        'proxy_cache all; proxy_cache_key $uri; proxy_cache_valid 200 1m; proxy_ignore_headers Cache-Control; proxy_cache_lock on;',
    },
    'for everybody',
  ],
  [
    'caches refusals for everybody',
    {
      http: 'proxy_cache_path FOLDER/cache keys_zone=all:1m use_temp_path=off;',
      location:
        'proxy_cache all; proxy_cache_key $uri; proxy_cache_valid any 1m; proxy_ignore_headers Cache-Control; proxy_cache_lock on;',
    },
    'for everybody',
  ],
  [
    'lets all pages read',
    { location: 'add_header Access-Control-Allow-Origin * always;' },
    'adds headers for browsers',
  ],
])('nginx that %s', async (does, lines, cause) => {
  const at = await place(`nginx ${does}`.replaceAll(' ', '-'));
  await using proxy = startNginxWith(at, lines);
  const result = await check(`http://127.0.0.1:${at.port}`, proxy);
  if (cause === undefined) expectRight(result);
  else expectCause(result, cause);
});

test.each<[does: string, lines: HaproxyLines, cause: string | undefined]>([
  ['does no more than it must', {}, undefined],
  ['buffers', { rules: 'http-response wait-for-body time 20s' }, 'buffers'],
  ['removes Authorization', { rules: 'http-request del-header Authorization' }, 'removes Authorization'],
  [
    'removes headers',
    { rules: HIDDEN.map((name) => `http-response del-header ${name}`).join('\n    ') },
    'removes headers',
  ],
  ['lets clients say their address', { forwarded: '' }, 'passes X-Forwarded-For on'],
  ['merges slashes', { rules: 'http-request set-path %[path,regsub(//,/,g)]' }, 'rewrites paths'],
  [
    'answers errors by itself',
    { rules: 'http-response return status 503 content-type text/html string Sorry if { status ge 400 }' },
    'answers by itself',
  ],
  ['refuses DELETE', { rules: 'http-request deny if METH_DELETE' }, 'answers by itself'],
  [
    'caches for everybody',
    {
      sections: 'cache all\n    total-max-size 4\n    max-age 60',
      rules: [
        'http-request cache-use all',
        'http-response set-header Cache-Control "public, max-age=60" if { status 200 }',
        'http-response cache-store all',
      ].join('\n    '),
    },
    'for everybody',
  ],
  [
    'lets all pages read',
    { rules: 'http-response set-header Access-Control-Allow-Origin *' },
    'adds headers for browsers',
  ],
])('HAProxy that %s', async (does, lines, cause) => {
  const at = await place(`HAProxy ${does}`.replaceAll(' ', '-'));
  await using proxy = startHaproxyWith(at, lines);
  const result = await check(`http://127.0.0.1:${at.port}`, proxy);
  if (cause === undefined) expectRight(result);
  else expectCause(result, cause);
});

test('a gateway that writes JSON again', async () => {
  const at = await place('gateway');
  await using _gateway = await startJsonRewriter(at);
  expectCause(await check(`http://127.0.0.1:${at.port}`), 'parses JSON and writes it again');
});
