import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isBuiltin } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { createTemporaryFolder, startHttpServer, type TemporaryFolder, type TestHttpServer } from '@petstore/testing';
import openapiTS, { astToString } from 'openapi-typescript';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { showInEditor } from '../support/editor.ts';
import { GUIDE_PROGRAMS, runShownPrograms } from '../support/shown-programs.ts';
import { startTestService } from '../support/test-service.ts';

const PACKAGE = resolve(import.meta.dirname, '../..');
const { version, publishConfig } = manifest;
/** Built by the task before this one. */
const tarball = resolve(PACKAGE, `../../dist/release/petstore-client-${version}.tgz`);
const REST_MAX_BYTES = 5_500;
/** Nearly all of it is the service for tests. */
const TARBALL_MAX_BYTES = 600_000;
const run = promisify(execFile);

let folder: TemporaryFolder;
/** Folders of programs that have installed the package: without anything else, and with what tRPC takes. */
let restProgram: string;
let trpcProgram: string;

beforeAll(async () => {
  folder = createTemporaryFolder();
  restProgram = await install('rest', []);
  trpcProgram = await install('trpc', TRPC_PEERS);
});
afterAll(() => folder[Symbol.dispose]());

const TRPC_PEERS = ['@trpc/client', '@trpc/server', 'superjson'];

async function install(name: string, peers: readonly string[]): Promise<string> {
  const program = join(folder.path, name);
  const installed = join(program, 'node_modules/@petstore/client');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  for (const peer of peers) {
    const link = join(program, 'node_modules', peer);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(PACKAGE, 'node_modules', peer), link);
  }
  await writeFile(join(program, 'package.json'), '{ "type": "module" }');
  return program;
}

const STRICT = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable', 'dom'], // tRPC's types want the second
  types: [],
};

/** @returns what the compiler reports */
async function typeCheck(program: string, sources: Record<string, string>, options: object = {}): Promise<string> {
  for (const [file, source] of Object.entries(sources)) await writeFile(join(program, file), source);
  const compilerOptions = { ...STRICT, ...options };
  await writeFile(join(program, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(sources) }));
  return run('tsc', ['-p', program]).then(
    () => '',
    ({ stdout, message }: { stdout: string; message: string }) => stdout || message,
  );
}

/** The packages that files of the installed package import. */
async function importedBy(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run('grep', ['-rhoE', '(from|import\\() ?[\'"][^.\'"][^\'"]*[\'"]', ...args], {
    cwd: join(restProgram, 'node_modules/@petstore/client'),
  });
  return [...new Set(Array.from(stdout.matchAll(/['"](.*)['"]/g), ([, name = '']) => name))].toSorted();
}

const NODE = { module: 'nodenext', skipLibCheck: false };
const BUNDLER = { module: 'esnext', moduleResolution: 'bundler', skipLibCheck: false };

describe('the package', () => {
  test('is found to be right by publint and by Are the types wrong', async () => {
    const publint = await run('publint', ['run', tarball, '--strict']);
    expect(publint.stdout).toContain('All good!');
    // It is a module for those who require it as well, which Node can from 20.19 on.
    await run('attw', [tarball, '--ignore-rules', 'cjs-resolves-to-esm']);
  });

  test('leads nowhere that is not in it', async () => {
    const readme = await readFile(join(restProgram, 'node_modules/@petstore/client/README.md'), 'utf8');
    const targets = Array.from(readme.matchAll(/\]\(([^)]*)\)/g), ([, target]) => target);
    expect(targets.filter((target) => !/^(https?:|#)/.test(target ?? ''))).toEqual([]);
    expect(readme).not.toContain('pnpm --filter');
  });

  test('holds no part of the service, and needs nothing of Node alone', async () => {
    const manifest = JSON.parse(
      await readFile(join(restProgram, 'node_modules/@petstore/client/package.json'), 'utf8'),
    );
    expect(manifest.dependencies).toBeUndefined();
    const imported = await importedBy('dist', '--exclude-dir=testing');
    expect(imported).toEqual([
      '@trpc/client',
      '@trpc/server',
      '@trpc/server/observable',
      '@trpc/server/rpc',
      'superjson',
    ]);
  });

  test('brings the service for tests whole, with the licences of its libraries and without drivers', async () => {
    const imported = await importedBy('dist/testing');
    expect(imported.filter((name) => !isBuiltin(name))).toEqual([]);
    const testing = join(restProgram, 'node_modules/@petstore/client/dist/testing');
    const notices = await readFile(join(testing, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
    const named = Array.from(notices.matchAll(/^={80}\n(\S+) /gm), ([, name]) => name);
    expect(named).toEqual(expect.arrayContaining(['fastify', 'zod', '@trpc/server', 'superjson']));
    expect(
      named.filter((name) =>
        /^(ioredis|pg|prom-client|@mikro-orm.*|pino-pretty|marked|co-body|iconv-lite|mime-db)$/.test(`${name}`),
      ),
    ).toEqual([]);
    expect((await stat(tarball)).size).toBeLessThan(TARBALL_MAX_BYTES);
  });

  test('needs nothing but itself to test with: npm installs it into an empty folder', async () => {
    const program = join(folder.path, 'tested');
    await mkdir(program);
    await run('npm', ['install', '--save-dev', '--offline', '--no-audit', tarball], { cwd: program });
    expect(await readdir(join(program, 'node_modules'))).toEqual(['.package-lock.json', '@petstore']);
    const example = await readFile(join(PACKAGE, 'examples/testing.ts'), 'utf8');
    await writeFile(join(program, 'example.mts'), example);
    const env = { ...process.env, NO_COLOR: '1' };
    const { stdout, stderr } = await run('node', ['example.mts'], { cwd: program, env, timeout: 30_000 });
    expect(stderr).toBe('');
    expect(stdout).toBe('cancelled\norder_already_shipped\n');
  });

  test('types the service for tests without anything else', async () => {
    const source = `
      import { createPetstoreRestClient } from '@petstore/client/rest';
      import { createTestService, type TestOrder } from '@petstore/client/testing';
      const orders: TestOrder[] = [{ id: 1n, status: 'shipped', complete: true }];
      const { fetch, apiKey, close } = createTestService({ orders, now: () => new Date(), plan: { perMinute: 1, perDay: 9 } });
      createPetstoreRestClient({ baseUrl: 'https://petstore.example.com', apiKey, fetch });
      const closed: Promise<void> = close();
      // @ts-expect-error ids are exact
      createTestService({ orders: [{ id: 1 }] });
      // @ts-expect-error limits of its own need numbers
      createTestService({ plan: 'enterprise' });
    `;
    expect(await typeCheck(restProgram, { 'program.ts': source }, NODE)).toBe('');
  });

  test('types REST for programs that have nothing else installed', async () => {
    const source = `
      import { ConflictError, createPetstoreRestClient, RateLimitError, type Order } from '@petstore/client/rest';
      const client = createPetstoreRestClient({ baseUrl: 'https://petstore.example.com', apiKey: 'key' });
      for await (const order of client.listOrders()) {
        const id: bigint | undefined = order.id;
        // @ts-expect-error it is not just anything
        const wrong: string = order.id;
      }
      const all: Order[] = await client.listOrders().toArray();
      try { await client.cancelOrder({ orderId: 1n }, { timeoutMs: 1_000 }); }
      catch (error) { if (error instanceof RateLimitError) { const s: number | undefined = error.retryAfterSeconds; }
        // @ts-expect-error misspelt
        if (error instanceof ConflictError && error.code === 'order_alredy_shipped') throw error; }
      // @ts-expect-error a number is not exact
      client.cancelOrder({ orderId: 1 });
    `;
    expect(await typeCheck(restProgram, { 'program.ts': source }, NODE)).toBe('');
  });

  test("types tRPC without the service's sources, for a bundler", async () => {
    const source = `
      import { createPetstoreClient, petstoreErrorOf, type PetstoreErrorCode, type PetstoreOutputs } from '@petstore/client';
      const client = createPetstoreClient({ baseUrl: 'https://petstore.example.com', apiKey: 'key' });
      const order: PetstoreOutputs['orders']['place'] = await client.orders.place.mutate({ petId: 1n, quantity: 2 });
      const id: bigint = order.id;
      if (order.status === 'cancelled') { const at: Date = order.cancelledAt; }
      // @ts-expect-error it is not just anything
      const wrong: string = order.id;
      // @ts-expect-error there is no such procedure
      client.orders.lose;
      for await (const batch of await client.orders.list.query()) { const ids: bigint[] = batch.map((o) => o.id); }
      const code: PetstoreErrorCode | undefined = petstoreErrorOf(new Error())?.code;
      // @ts-expect-error the codes are known
      const other: 'nothing' | undefined = code;
      await client.rest.cancelOrder({ orderId: id });
    `;
    expect(await typeCheck(trpcProgram, { 'program.ts': source }, BUNDLER)).toBe('');
  });

  test('names all types that modules infer from it, so that the compiler writes their declarations', async () => {
    const source = `
      import { type AppRouter, createPetstoreClient, petstoreErrorOf, transformer } from '@petstore/client';
      import { createTRPCClient, httpBatchLink } from '@trpc/client';
      export const petstore = createPetstoreClient({ baseUrl: 'https://petstore.example.com', apiKey: 'key' });
      export const { orders, pets, limits, v2, rest } = petstore;
      export const place = (petId: bigint) => orders.place.mutate({ petId, quantity: 1 });
      export const get = (orderId: bigint) => orders.get.query({ orderId });
      export const follow = () => petstore.events();
      export const restLimits = () => rest.v2.limits();
      export const restOrders = () => rest.listOrders();
      export const codeOf = (error: unknown) => petstoreErrorOf(error)?.code;
      const link = httpBatchLink({ url: 'https://petstore.example.com/trpc', transformer });
      export const own = createTRPCClient<AppRouter>({ links: [link] });
    `;
    const options = { noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: '.', outDir: 'declared' };
    expect(await typeCheck(trpcProgram, { 'wrapper.ts': source }, { ...NODE, ...options })).toBe('');
    expect(await readFile(join(trpcProgram, 'declared/wrapper.d.ts'), 'utf8')).toMatch(
      /place: .*import\("@petstore\/client\/service-types"\)\.Order,/,
    );
  });

  test('keeps the tags of procedures, which an editor shows', () => {
    const head = "import type { PetstoreClient } from '@petstore/client';\ndeclare const client: PetstoreClient";
    const expressions = ['client.orders.get', 'client.v2.orders.list', 'client.pets.get'];
    const shown = showInEditor(trpcProgram, head, expressions, { compilerOptions: { ...STRICT, ...BUNDLER } });
    expect([...shown.values()]).toEqual([
      { tags: ['beta'], isStruckThrough: false },
      { tags: ['experimental'], isStruckThrough: false },
      { tags: ['deprecated'], isStruckThrough: true },
    ]);
  });

  test('does its work as it was installed', async () => {
    await using service = await startTestService();
    const source = `
      import { createPetstoreClient } from '@petstore/client';
      const client = createPetstoreClient({ baseUrl: '${service.origin}', apiKey: 'internal' });
      const { id } = await client.orders.place.mutate({ petId: 9223372036854775807n, quantity: 2 });
      await client.rest.cancelOrder({ orderId: id });
      for await (const { petId } of client.rest.listOrders()) console.log(petId);
    `;
    await writeFile(join(trpcProgram, 'program.mjs'), source);
    const { stdout } = await run('node', ['program.mjs'], { cwd: trpcProgram });
    expect(stdout).toBe('9223372036854775807n\n');
  });
});

describe('a guide', () => {
  test('shows programs that compile, as their readers would compile them', async () => {
    // A block without imports is a module all the same.
    const sources = Object.fromEntries(
      GUIDE_PROGRAMS.map(({ name, source }) => [`${name.replace(/\W/g, '-')}.ts`, `${source}\nexport {};\n`]),
    );
    const types = { types: ['node'], typeRoots: [join(PACKAGE, 'node_modules/@types')] };
    expect(await typeCheck(trpcProgram, sources, { module: 'nodenext', ...types })).toBe('');
  });

  test('shows, as the README does, programs that run in a folder of the kind that it makes', async () => {
    await using service = await startTestService();
    await service.persistence.orders.generateOrders({ count: 20, seed: 1, now: new Date() });
    const program = await install('guide', TRPC_PEERS);
    await rm(join(program, 'package.json'));
    await run('npm', ['init', '-y'], { cwd: program });
    await runShownPrograms({ node: process.execPath, folder: program, origin: service.origin });
  });
});

/** The program, with all that it imports, as browsers would load it. */
async function bundleOf(source: string): Promise<{ code: string; imports: readonly string[] }> {
  const bundle = await rolldown({
    input: 'program',
    cwd: trpcProgram,
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === 'program' ? join(trpcProgram, 'program.js') : null),
        load: (id) => (id === join(trpcProgram, 'program.js') ? source : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'es', minify: true });
  await bundle.close();
  return output[0];
}

/** What a registry keeps of a package. */
interface Publication {
  readonly name: string;
  readonly versions: Readonly<Record<string, { readonly exports: unknown }>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

interface StubRegistry extends TestHttpServer {
  readonly published: () => Publication | undefined;
}

/** A registry of this one package, as far as npm needs one to publish and to install. */
async function startStubRegistry(): Promise<StubRegistry> {
  let published: Publication | undefined;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    const isPackage = url.startsWith('/@petstore%2fclient');
    if (method === 'PUT' && isPackage) {
      published = JSON.parse(await text(request)); // as npm sends it
      response.writeHead(201, { 'content-type': 'application/json' }).end('{}');
    } else if (published !== undefined && isPackage) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(published));
    } else if (published !== undefined && url.endsWith('.tgz')) {
      const [{ data } = { data: '' }] = Object.values(published._attachments);
      response.writeHead(200).end(Buffer.from(data, 'base64'));
    } else response.writeHead(404).end('{}');
  }
  const server = await startHttpServer((request, response) => void answer(request, response));
  return Object.assign(server, { published: () => published });
}

describe('published', () => {
  /** npm with the registry's owner logged in, and nothing of the machine's own settings. */
  async function npm(registry: string, cwd: string, ...args: string[]): Promise<string> {
    const userconfig = join(folder.path, 'npmrc');
    await writeFile(userconfig, `${registry.replace('http:', '')}/:_authToken=of-the-owner\n`);
    const settings = { npm_config_userconfig: userconfig, npm_config_audit: 'false' };
    const env = { PATH: process.env['PATH'], HOME: folder.path, ...settings };
    const { stdout } = await run('npm', [...args, '--registry', registry], { cwd, env });
    return stdout;
  }

  test("the package goes to its owner's registry, and is installed from there", async () => {
    await using registry = await startStubRegistry();
    expect(await npm(registry.origin, folder.path, 'publish', tarball)).toContain(`+ @petstore/client@${version}`);
    const { name, versions } = registry.published() ?? {};
    expect(name).toBe('@petstore/client');
    expect(versions?.[version]?.exports).toMatchObject({ './rest': { default: './dist/rest.js' } });

    const shop = join(folder.path, 'shop');
    await mkdir(shop);
    await npm(registry.origin, shop, 'install', '@petstore/client');
    const source =
      "import * as client from '@petstore/client/rest'; console.log(typeof client.createPetstoreRestClient);";
    const { stdout } = await run('node', ['--input-type=module', '--eval', source], { cwd: shop });
    expect(stdout).toBe('function\n');
  });

  test('the package goes nowhere by mistake, and is not packed by what would export its sources', async () => {
    expect(publishConfig.registry).toMatch(/\.example\/$/);
    await expect(npm('http://127.0.0.1:1', PACKAGE, 'pack', '--dry-run')).rejects.toThrow('Pack with pnpm');
  });
});

describe('in a bundle', () => {
  test.each(['@petstore/client/rest', '@petstore/client'])('REST alone, imported from %s, is small', async (name) => {
    const { code, imports } = await bundleOf(`export { createPetstoreRestClient } from '${name}';`);
    expect(imports).toEqual([]);
    expect(code).not.toMatch(/superjson|TRPCClient/i);
    expect(gzipSync(code).length).toBeLessThan(REST_MAX_BYTES);
  });

  test('what is not used is not there: modules do nothing by being imported', async () => {
    const { code } = await bundleOf("import '@petstore/client'; import '@petstore/client/rest';");
    expect(code.trim()).toBe('');
  });
});

test('a client that others generate knows the codes of each response, and no misspelt one compiles', async () => {
  const program = `
    import type { operations } from './document.ts';
    type Responses = operations['cancelOrder']['responses'];
    type ErrorOf<Status extends keyof Responses> =
      Responses[Status] extends { content: { 'application/json': infer Body } } ? Body : never;
    declare const conflict: ErrorOf<409>;
    const code: 'order_already_shipped' | 'order_already_cancelled' = conflict.code;
    // @ts-expect-error misspelt
    if (conflict.code === 'order_alredy_shipped') throw code;
    declare const error: ErrorOf<401 | 404 | 409 | 429>;
    if (error.code === 'order_not_found') { const found: ErrorOf<404> = error; }
    // @ts-expect-error of another operation
    if (error.code === 'pet_not_found') throw code;
  `;
  for (const file of ['openapi.json', 'openapi.v2.json']) {
    const document = astToString(await openapiTS(new URL(`../../../api/${file}`, import.meta.url)));
    const home = join(folder.path, file);
    await mkdir(home);
    const sources = { 'document.ts': document, 'program.ts': program };
    expect(await typeCheck(home, sources, { ...NODE, allowImportingTsExtensions: true })).toBe('');
  }
});
