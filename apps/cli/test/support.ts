import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ApiKeyId } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { createTemporaryFolder, createTestDatabase } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { run } from '../src/run.ts';

const MAIN = join(import.meta.dirname, '../src/main.js');

export interface CallOptions {
  readonly environment?: Record<string, string>;
  readonly stdin?: string | Uint8Array;
  readonly cwd?: string;
  readonly nodeOptions?: readonly string[];
}

export interface CallResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Variables of the machine that the command line would heed. */
const CLEAN = { DATABASE_URL: '', REDIS_URL: '', DATA_DIR: '', MIGRATE: '', INIT_CWD: '', npm_lifecycle_event: '' };

const environmentOf = ({ environment = {} }: CallOptions) => ({ ...process.env, ...CLEAN, ...environment });

export function spawnPetstore(args: readonly string[], options: CallOptions = {}) {
  const { cwd, nodeOptions = [] } = options;
  return spawn(process.execPath, [...nodeOptions, MAIN, ...args], {
    cwd,
    env: environmentOf(options),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** Runs the real command line in a process of its own. */
export async function petstore(args: readonly string[], options: CallOptions = {}): Promise<CallResult> {
  const child = spawnPetstore(args, options);
  child.stdin.on('error', () => {}); // a command that refuses does not read to the end
  child.stdin.end(options.stdin ?? '');
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

/**
 * The same with a file descriptor for standard output.
 *
 * @param prelude what a shell does first
 */
export async function petstoreInto(
  stdout: number,
  args: readonly string[],
  { prelude = ':', ...options }: CallOptions & { readonly prelude?: string } = {},
): Promise<Omit<CallResult, 'stdout'>> {
  const child = spawn('/bin/sh', ['-c', `${prelude}; exec "$0" "$@"`, process.execPath, MAIN, ...args], {
    env: environmentOf(options),
    stdio: ['pipe', stdout, 'pipe'],
  });
  const { stdin, stderr } = child;
  if (stdin === null || stderr === null) throw new Error('they are pipes');
  stdin.on('error', () => {});
  stdin.end(options.stdin ?? '');
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [messages, code] = await Promise.all([text(stderr), closed]);
  return { code, stderr: messages };
}

/** Runs a command in this process, which is much faster: for what never comes to work. */
export async function runHere(args: readonly string[], environment: Record<string, string>): Promise<CallResult> {
  const [stdin, stdout, stderr] = [new PassThrough().end(), new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(stdout), text(stderr)]);
  const code = await run({ arguments: args, environment, workingFolder: '/', stdin, stdout, stderr });
  stdout.end();
  stderr.end();
  const [outputText, messages] = await printed;
  return { code, stdout: outputText, stderr: messages };
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
}

const template = {
  name: 'persistence',
  async prepare(databaseUrl: string) {
    await using persistence = openPersistence({ databaseUrl });
    await persistence.migrations.migrate();
  },
};

/** The command line on a database of its own. */
async function openTestCommandLine(): Promise<TestCommandLine> {
  const folder = createTemporaryFolder();
  const database = await createTestDatabase({ template });
  const persistence = openPersistence({ databaseUrl: database.url });
  const client = new pg.Client(database.url);
  await client.connect();
  const environment = { DATABASE_URL: database.url, DATA_DIR: folder.path };
  const call = (args: readonly string[], options: CallOptions = {}) =>
    petstore(args, { ...options, environment: { ...environment, ...options.environment } });
  return {
    folder: folder.path,
    url: database.url,
    environment,
    persistence,
    run: call,
    async clear() {
      await client.query('truncate orders, pets restart identity');
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
  const commandLine = {} as TestCommandLine; // nobody looks into it before it is filled
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
