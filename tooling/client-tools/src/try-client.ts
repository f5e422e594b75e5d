import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rolldown } from 'rolldown';
import type { Settings } from './call.ts';
import { checkTypes } from './check-types.ts';
import type { CallsTask } from './make-calls.ts';
import { runCommand, runOrThrow } from './run-command.ts';
import type { Service } from './service.ts';
import { type ClientOutcome, type ClientTool, TRIAL_NAMES, type TrialName, VERSIONS, type Version } from './tool.ts';
import { judgeCalls, type Trial } from './trial.ts';
import { installed, openWorkshop, type Workshop } from './workshop.ts';

const PROGRAMS = join(import.meta.dirname, '../programs');
const MAKE_CALLS = join(import.meta.dirname, 'make-calls.ts');

/** Where the guides have the service. */
const SHOWN_URL = 'http://127.0.0.1:3000';

const VERSION_OF = { v1: 'v1', v1Exact: 'v1', v2: 'v2' } as const satisfies Record<TrialName, Version>;

/** Generates, compiles and calls. */
export async function tryClient(tool: ClientTool, service: Service): Promise<ClientOutcome> {
  using workshop = await openWorkshop(tool);
  const source = join(workshop.folder, 'program.ts');
  copyFileSync(join(PROGRAMS, tool.program), source);
  const urls = { v1: documentUrl(service, 'v1'), v2: documentUrl(service, 'v2') };
  for (const version of VERSIONS) {
    writeFileSync(join(workshop.folder, `${version}.json`), await (await fetch(urls[version])).text());
  }
  for (const command of tool.generate?.(urls) ?? []) {
    await runOrThrow(installed(workshop, command), { cwd: workshop.folder });
  }
  const types = tool.kind === 'generator' ? await checkTypes(workshop.folder, tool.example?.file) : undefined;
  if (tool.example) await runExample(tool.example, service, workshop);
  const program = await bundle(source, workshop);
  const trials = Object.fromEntries(TRIAL_NAMES.map((name): [string, Trial | undefined] => [name, undefined]));
  for (const name of TRIAL_NAMES) trials[name] = await runTrial({ tool, service, workshop, program }, name);
  // It has the names that it was made of.
  return { tool, trials: trials as ClientOutcome['trials'], ...(types && { types }) };
}

/** @throws Error when it prints anything else */
async function runExample(
  { file, prints }: NonNullable<ClientTool['example']>,
  { url, apiKey }: Service,
  { folder }: Workshop,
): Promise<void> {
  const path = join(folder, file);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(SHOWN_URL, url));
  const env = { PETSTORE_API_KEY: apiKey };
  const { stdout } = await runOrThrow([process.execPath, file], { cwd: folder, env });
  if (!prints.test(stdout)) throw new Error(`${file} of the guide printed\n${stdout}`);
}

const documentUrl = ({ url }: Service, version: Version) => `${url}/${version}/openapi.json`;

/** As programs are built: what was generated becomes one module, and packages stay outside. */
async function bundle(input: string, { folder }: Workshop): Promise<string> {
  const file = join(folder, 'program.bundled.mjs');
  await using build = await rolldown({ input, external: /^[^./]/, platform: 'node', logLevel: 'silent' });
  await build.write({ file, format: 'esm' });
  return file;
}

interface Trying {
  readonly tool: ClientTool;
  readonly service: Service;
  readonly workshop: Workshop;
  readonly program: string;
}

/** @returns nothing where the program has no such caller */
async function runTrial({ tool, service, workshop, program }: Trying, name: TrialName): Promise<Trial | undefined> {
  const version = VERSION_OF[name];
  const direct: Settings = {
    baseUrl: `${service.url}/${version}`,
    documentUrl: documentUrl(service, version),
    apiKey: service.apiKey,
  };
  await using proxy = tool.proxy === undefined ? undefined : await startProxy(tool.proxy, { direct, workshop });
  const orders = await service.addOrders();
  const settings = proxy === undefined ? direct : { ...direct, baseUrl: proxy.url };
  const task: CallsTask = { program, caller: name, settings, quantities: orders.quantities };
  const { stdout, output } = await runCommand([process.execPath, MAKE_CALLS, JSON.stringify(task)], {
    cwd: workshop.folder,
  });
  const last = stdout.trimEnd().split('\n').at(-1);
  if (!last) return { type: 'failed', reason: output.slice(-500) };
  const call = JSON.parse(last); // as make-calls.ts prints it
  return call === null ? undefined : await judgeCalls(service, orders, call);
}

interface ProxySurroundings {
  readonly direct: Settings;
  readonly workshop: Workshop;
}

async function startProxy(
  commandOf: NonNullable<ClientTool['proxy']>,
  { direct, workshop }: ProxySurroundings,
): Promise<AsyncDisposable & { readonly url: string }> {
  const port = await freePort();
  const [command, ...args] = installed(workshop, commandOf({ ...direct, port }));
  const child = spawn(command, args, { cwd: workshop.folder, stdio: 'ignore', env: { PATH: process.env['PATH'] } });
  const url = `http://127.0.0.1:${port}`;
  await waitForAnswer(url, child);
  return {
    url,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('it listens on no port');
  return address.port;
}

async function waitForAnswer(url: string, child: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; await sleep(100)) {
    if (await fetch(url).catch(() => undefined)) return;
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`nothing responds on ${url}`);
  }
}
