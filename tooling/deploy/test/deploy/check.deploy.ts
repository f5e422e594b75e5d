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
import { useBuiltFolder } from '../support/built-folder.ts';
import { Program } from '../support/program.ts';
import {
  type BalancerName,
  type HaproxyLines,
  type NginxLines,
  startBalancer,
  startHaproxyWith,
  startJsonRewriter,
  startNginxWith,
} from '../support/proxies.ts';

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

/** Expects that this promise is broken, by which docs/operations.md tells the cause. */
const expectBroken = ({ code, findings }: Awaited<ReturnType<typeof check>>, promise: string) => {
  expect(findings.filter(({ ok }) => ok === false).map(({ check }) => check)).toContain(promise);
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

const HEADERS = 'the headers of an answer arrive, and tell the limits';
const HIDDEN = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'RateLimit-Policy', 'Allow', 'Sunset'];

test.each<[does: string, lines: NginxLines, broken: string | undefined]>([
  ['does no more than it must', {}, undefined],
  [
    'buffers',
    { version: '1.0', location: 'proxy_ignore_headers X-Accel-Buffering;' },
    'an event arrives when it is sent',
  ],
  [
    'compresses what it buffers',
    { location: 'proxy_ignore_headers X-Accel-Buffering; gzip on; gzip_types text/event-stream;' },
    'an event arrives when it is sent',
  ],
  ['removes Authorization', { location: 'proxy_set_header Authorization "";' }, 'Authorization reaches the service'],
  ['removes headers', { location: HIDDEN.map((name) => `proxy_hide_header ${name};`).join(' ') }, HEADERS],
  [
    'removes If-None-Match',
    { location: 'proxy_set_header If-None-Match "";' },
    'a document that is known already is 304',
  ],
  ['lets clients say their address', { forwarded: '' }, 'no caller chooses its address by X-Forwarded-For'],
  ['decodes paths', { path: '/' }, '/v1/store%2Forders is another path'],
  ['cuts paths', { location: 'rewrite ^/v1/(.*)$ /$1 break;' }, 'the OpenAPI document needs no key'],
  [
    'answers errors by itself',
    { location: 'proxy_intercept_errors on; error_page 400 401 404 405 410 413 415 @page;' },
    'the Error object refuses a request without a key',
  ],
  ['refuses DELETE', { location: 'limit_except GET POST OPTIONS { deny all; }' }, 'DELETE reaches the service'],
  ['refuses large bodies', { location: 'client_max_body_size 64k;' }, 'tRPC refuses a large body'],
  [
    'caches for everybody',
    {
      http: 'proxy_cache_path FOLDER/cache keys_zone=all:1m use_temp_path=off;',
      location:
        'proxy_cache all; proxy_cache_key $uri; proxy_cache_valid 200 1m; proxy_ignore_headers Cache-Control; proxy_cache_lock on;',
    },
    'the list is for nobody without a key',
  ],
  [
    'caches refusals for everybody',
    {
      http: 'proxy_cache_path FOLDER/cache keys_zone=all:1m use_temp_path=off;',
      location:
        'proxy_cache all; proxy_cache_key $uri; proxy_cache_valid any 1m; proxy_ignore_headers Cache-Control; proxy_cache_lock on;',
    },
    'Authorization reaches the service',
  ],
  [
    'lets all pages read',
    { location: 'add_header Access-Control-Allow-Origin * always;' },
    'browsers of other origins get no permission to read',
  ],
])('nginx that %s', async (does, lines, broken) => {
  const at = await place(`nginx ${does}`.replaceAll(' ', '-'));
  await using proxy = startNginxWith(at, lines);
  const result = await check(`http://127.0.0.1:${at.port}`, proxy);
  if (broken === undefined) expectRight(result);
  else expectBroken(result, broken);
});

test.each<[does: string, lines: HaproxyLines, broken: string | undefined]>([
  ['does no more than it must', {}, undefined],
  ['buffers', { rules: 'http-response wait-for-body time 20s' }, 'an event arrives when it is sent'],
  ['removes Authorization', { rules: 'http-request del-header Authorization' }, 'Authorization reaches the service'],
  ['removes headers', { rules: HIDDEN.map((name) => `http-response del-header ${name}`).join('\n    ') }, HEADERS],
  ['lets clients say their address', { forwarded: '' }, 'no caller chooses its address by X-Forwarded-For'],
  ['merges slashes', { rules: 'http-request set-path %[path,regsub(//,/,g)]' }, '/v1//store/orders is another path'],
  [
    'answers errors by itself',
    { rules: 'http-response return status 503 content-type text/html string Sorry if { status ge 400 }' },
    'the Error object refuses a request without a key',
  ],
  ['refuses DELETE', { rules: 'http-request deny if METH_DELETE' }, 'DELETE reaches the service'],
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
    'the list says that nobody may keep it',
  ],
  [
    'lets all pages read',
    { rules: 'http-response set-header Access-Control-Allow-Origin *' },
    'browsers of other origins get no permission to read',
  ],
])('HAProxy that %s', async (does, lines, broken) => {
  const at = await place(`HAProxy ${does}`.replaceAll(' ', '-'));
  await using proxy = startHaproxyWith(at, lines);
  const result = await check(`http://127.0.0.1:${at.port}`, proxy);
  if (broken === undefined) expectRight(result);
  else expectBroken(result, broken);
});

test('a gateway that writes JSON again', async () => {
  const at = await place('gateway');
  await using _gateway = await startJsonRewriter(at);
  expectBroken(await check(`http://127.0.0.1:${at.port}`), 'the list arrives whole, with all digits of its ids');
});
