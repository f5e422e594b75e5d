import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiKeyId } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { createTemporaryFolder, createTestDatabase, PATIENCE_MS } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { run } from '../src/run.ts';

export const MAIN = join(import.meta.dirname, '../src/main.js');

export interface CallOptions {
  readonly environment?: Record<string, string>;
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** What relative paths of files are relative to. @default / */
  readonly workingFolder?: string;
  /** The width of the terminal that shows both outputs. @default none */
  readonly columns?: number;
  /** Where the data is if DATA_DIR does not say. @default nowhere */
  readonly checkout?: string;
}

export interface CallResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** As much as a pipe delivers at once. */
const CHUNK_BYTES = 65_536;

function* chunksOf(input: string | Uint8Array): Generator<Uint8Array> {
  const bytes = Buffer.from(input);
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES);
}

const readableOf = (input: NonNullable<CallOptions['stdin']>): Readable =>
  Readable.from(typeof input === 'string' || input instanceof Uint8Array ? chunksOf(input) : input);

const outputOf = ({ columns }: CallOptions): PassThrough =>
  Object.assign(new PassThrough(), columns !== undefined && { isTTY: true, columns });

/** Runs a command in this process, which takes a tenth of the time of a process of its own. */
export async function petstore(args: readonly string[], options: CallOptions = {}): Promise<CallResult> {
  const stdout = outputOf(options);
  const printed = text(stdout);
  const result = await petstoreInto(stdout, args, options);
  stdout.end();
  return { ...result, stdout: await printed };
}

/** The same with a given standard output. */
export async function petstoreInto(
  stdout: Writable,
  args: readonly string[],
  options: CallOptions = {},
): Promise<Omit<CallResult, 'stdout'>> {
  const { environment = {}, stdin = '', workingFolder = '/', checkout = '/dev/null' } = options;
  const stderr = outputOf(options);
  const messages = text(stderr);
  const code = await run({
    arguments: args,
    environment,
    workingFolder,
    checkout,
    stdin: readableOf(stdin),
    stdout,
    stderr,
  });
  stderr.end();
  return { code, stderr: await messages };
}

/** Variables of the machine that the command line would heed. */
const CLEAN = {
  DATABASE_URL: undefined,
  REDIS_URL: undefined,
  DATA_DIR: '',
  MIGRATE: '',
};

export interface ProcessOptions extends CallOptions {
  readonly nodeOptions?: readonly string[];
  /** A file descriptor for standard output. @default a pipe */
  readonly stdout?: number;
  /** What a shell does first. */
  readonly prelude?: string;
}

/** Starts the real program, for what only a process shows: signals, pipes, memory, its exit code. */
export function spawnPetstore(args: readonly string[], options: ProcessOptions = {}) {
  const { workingFolder, nodeOptions = [], stdout = 'pipe', prelude = ':' } = options;
  const command = [process.execPath, ...nodeOptions, MAIN, ...args];
  const child = spawn('/bin/sh', ['-c', `${prelude}; exec "$0" "$@"`, ...command], {
    cwd: workingFolder,
    env: { ...process.env, ...CLEAN, ...options.environment },
    stdio: ['pipe', stdout, 'pipe'],
  });
  child.stdin?.on('error', () => {}); // a command that refuses does not read to the end
  return child as ChildProcessByStdio<Writable, Readable, Readable>; // but for `stdout`, where a descriptor was given
}

/** Runs the real program to its end. */
export async function petstoreProcess(args: readonly string[], options: ProcessOptions = {}): Promise<CallResult> {
  const child = spawnPetstore(args, options);
  readableOf(options.stdin ?? '').pipe(child.stdin);
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const printed = options.stdout === undefined ? text(child.stdout) : '';
  const [stdout, stderr, code] = await Promise.all([printed, text(child.stderr), closed]);
  return { code, stdout, stderr };
}

interface TestCommandLine extends AsyncDisposable {
  /** Its own, for data and for files; empty at first. */
  readonly folder: string;
  readonly url: string;
  readonly environment: Record<string, string>;
  readonly persistence: Persistence;
  run(args: readonly string[], options?: CallOptions): Promise<CallResult>;
  /** Empties the tables of orders and pets. */
  clear(): Promise<void>;
  /** Runs a command that succeeds, and gives what it prints with `--json`. */
  json(args: readonly string[], options?: CallOptions): Promise<unknown>;
  /** The same by a process of its own. */
  runProcess(args: readonly string[], options?: ProcessOptions): Promise<CallResult>;
}

/** A database that is up to date. */
export const MIGRATED = {
  name: 'persistence',
  async prepare(databaseUrl: string) {
    await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
    await persistence.migrations.migrate();
  },
};

/** The command line on a database of its own. */
async function openTestCommandLine(): Promise<TestCommandLine> {
  const folder = createTemporaryFolder();
  const database = await createTestDatabase({ template: MIGRATED });
  const persistence = openPersistence({ databaseUrl: database.url, patienceMs: PATIENCE_MS });
  const client = new pg.Client(database.url);
  await client.connect();
  const environment = { DATABASE_URL: database.url, DATA_DIR: folder.path };
  const withEnvironment = <Options extends CallOptions>(options?: Options) => ({
    ...options,
    environment: { ...environment, ...options?.environment },
  });
  const call = (args: readonly string[], options?: CallOptions) => petstore(args, withEnvironment(options));
  return {
    folder: folder.path,
    url: database.url,
    environment,
    persistence,
    run: call,
    runProcess: (args, options) => petstoreProcess(args, withEnvironment(options)),
    async clear() {
      await client.query('truncate orders, pets, order_events, idempotency_keys restart identity');
    },
    async json(args, options) {
      const { code, stdout, stderr } = await call([...args, '--json'], options);
      if (code !== 0) throw new Error(`petstore ${args.join(' ')} ended with ${code}: ${stderr}`);
      return parseExactly(stdout);
    },
    async [Symbol.asyncDispose]() {
      await client.end();
      await persistence.close();
      await database[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** A command line for the tests of a file: open from before the first of them until after the last. */
export function useTestCommandLine(): TestCommandLine {
  const commandLine = {} as TestCommandLine; // it is filled before the first test
  beforeAll(async () => {
    Object.assign(commandLine, await openTestCommandLine());
  });
  afterAll(() => commandLine[Symbol.asyncDispose]());
  return commandLine;
}

/** What `keys create` and `keys rotate` print. */
interface PrintedKey {
  readonly id: ApiKeyId;
  readonly key: string;
  readonly expiresAt: string | null;
}

export function expectKey(printed: unknown): PrintedKey {
  expect(printed).toMatchObject({
    id: expect.stringMatching(/^[0-9A-Za-z]{8}$/),
    key: expect.any(String),
    expiresAt: expect.toBeOneOf([expect.any(String), null]),
  });
  return printed as PrintedKey; // as has just been seen
}

/** Parses JSON; integers that a double would round become bigints. */
export const parseExactly = (json: string): unknown =>
  JSON.parse(json, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && context?.source ? BigInt(context.source) : value,
  );

interface FarServer extends AsyncDisposable {
  readonly url: string;
}

interface Distance {
  /** The time of each piece of data in each direction. */
  readonly delayMs: number;
  /** How long the first connection waits before anything passes. */
  readonly wakesAfterMs?: number;
}

/** The server of a URL, at a distance. */
export async function openFarServer(nearUrl: string, { delayMs, wakesAfterMs = 0 }: Distance): Promise<FarServer> {
  const { hostname, port } = new URL(nearUrl);
  const awake = sleep(wakesAfterMs);
  const sockets = new Set<Socket>();
  const pipe = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (data) => void Promise.all([awake, sleep(delayMs)]).then(() => to.write(data)));
    from.on('close', () => void sleep(delayMs).then(() => to.destroy()));
    from.on('error', () => {}); // it closes
  };
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    pipe(near, far);
    pipe(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo; // never a path, as TCP is used
  const url = Object.assign(new URL(nearUrl), { hostname: '127.0.0.1', port: String(address.port) });
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
