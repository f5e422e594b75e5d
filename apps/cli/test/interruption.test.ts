import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CallResult, MAIN, spawnPetstore, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();
let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client(commandLine.url);
  await client.connect();
});
afterAll(() => client.end());
beforeEach(() => commandLine.clear());
const pathOf = (name: string) => join(commandLine.folder, name);
const countOrders = async () => ((await commandLine.json(['orders', 'list'])) as unknown[]).length; // it prints an array

/** Waits until the command has a connection of which the condition is true, or none of former commands has. */
const untilDatabase = (condition: string, count = 1) =>
  expect
    .poll(async () => {
      const others = 'datname = current_database() and pid <> pg_backend_pid()';
      const { rows } = await client.query(`select from pg_stat_activity where ${others} and ${condition}`);
      return rows.length;
    }, PATIENTLY)
    .toBe(count);

const GENERATE = ['orders', 'generate', '--count', '1000000000'];
const GENERATING = `query like '%generate_series%'`;
const READING = `query like 'copy %' and wait_event = 'ClientRead'`;

class RunningCommand {
  readonly #child: ReturnType<typeof spawnPetstore>;
  readonly result: Promise<CallResult>;

  constructor(...args: string[]) {
    const child = spawnPetstore(args, { environment: commandLine.environment });
    this.#child = child;
    this.result = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
      ([[code], stdout, stderr]) => ({ code, stdout, stderr }),
    );
  }

  type(input: string | Uint8Array): void {
    this.#child.stdin.write(input);
  }

  interrupt(signal: NodeJS.Signals = 'SIGINT'): Promise<CallResult> {
    this.#child.kill(signal);
    return this.result;
  }

  /** Waits until it says something, and gives it back. */
  async says(): Promise<string> {
    const [said] = (await once(this.#child.stderr, 'data')) as [Buffer];
    return said.toString();
  }
}

const interrupted = (outcome: string, code = 130) => ({ code, stdout: '', stderr: `Interrupted. ${outcome}\n` });

describe('a command that is interrupted says in one line what became of it:', () => {
  test('an import of orders, by SIGTERM', async () => {
    const command = new RunningCommand('orders', 'import', '-');
    command.type('{"id":1,"petId":1,"quantity":1}\n');
    await untilDatabase(READING);
    expect(await command.interrupt('SIGTERM')).toEqual(interrupted('Nothing was imported.', 143));
    expect(await countOrders()).toBe(0);
  });

  test('an import from a pipe without a writer, by SIGHUP', async () => {
    execFileSync('mkfifo', [pathOf('pipe')]);
    const command = new RunningCommand('orders', 'import', pathOf('pipe'));
    await using _writer = await open(pathOf('pipe'), 'w');
    await untilDatabase(READING);
    expect(await command.interrupt('SIGHUP')).toEqual(interrupted('Nothing was imported.', 129));
  });

  test('a generation whose package manager was ended, which passes no signal on', async () => {
    const start = `require('node:child_process').spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' })`;
    const pnpm = spawn(process.execPath, ['-e', start, MAIN, ...GENERATE], {
      argv0: 'pnpm',
      env: { ...process.env, ...commandLine.environment, npm_config_user_agent: 'pnpm/12' },
    });
    const messages = text(pnpm.stderr);
    await untilDatabase(GENERATING);
    pnpm.kill('SIGKILL');
    expect(await messages).toBe('Interrupted. Nothing was generated.\n'); // its end is that of the command
    expect(await countOrders()).toBe(0);
  });

  test('an export to a file, which leaves no other file behind', async () => {
    const path = pathOf('kept.ndjson');
    writeFileSync(path, 'as it was');
    const holder = new pg.Client(commandLine.url);
    await holder.connect();
    try {
      await holder.query('begin; lock table orders');
      const command = new RunningCommand('orders', 'export', path);
      await untilDatabase(`wait_event_type = 'Lock'`);
      expect(await command.interrupt()).toEqual(interrupted(`${path} was not changed.`));
    } finally {
      await holder.end();
    }
    expect(readFileSync(path, 'utf8')).toBe('as it was');
    expect(readdirSync(commandLine.folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
  });

  test('an output that others read', async () => {
    await commandLine.json(['orders', 'generate', '--count', '5000']);
    const child = spawnPetstore(['orders', 'export', '-'], { environment: commandLine.environment });
    const messages = text(child.stderr);
    await once(child.stdout, 'readable'); // and nothing is read, so that it waits
    child.kill('SIGINT');
    const [[code]] = await Promise.all([once(child, 'exit'), child.stdout.resume()]);
    expect([code, await messages]).toEqual([130, 'Interrupted. The output is incomplete.\n']);
  });
});

describe('while the database commits', () => {
  /** What an insert waits for at the commit of its transaction. */
  const GATE = 1;

  beforeAll(async () => {
    await client.query(`
      create function wait_at_gate() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock_shared(${GATE}); return null; end $$;
      create constraint trigger gate after insert on orders deferrable initially deferred
        for each row execute function wait_at_gate()`);
  });

  const GENERATE_ONE = ['orders', 'generate', '--count', '1'];
  const closeGate = () => client.query(`select pg_advisory_lock(${GATE})`);
  const untilCommit = () => untilDatabase(`query = 'commit' and wait_event_type = 'Lock'`);

  async function startCommit(): Promise<RunningCommand> {
    await closeGate();
    const command = new RunningCommand(...GENERATE_ONE);
    await untilCommit();
    return command;
  }
  const openGate = () => client.query(`select pg_advisory_unlock(${GATE})`);
  const WAITING = 'The database is committing: waiting for its response. Interrupt again to exit without waiting.\n';

  test('a signal waits for the outcome', async () => {
    const command = await startCommit();
    const said = command.says();
    void command.interrupt();
    expect(await said).toBe(WAITING);
    await openGate();
    expect(await command.result).toEqual({ code: 0, stdout: '1 generated.\n', stderr: WAITING });
    expect(await countOrders()).toBe(1);
  });

  test('a connection that breaks leaves open what became of it', async () => {
    await closeGate();
    const result = commandLine.run(GENERATE_ONE);
    await untilCommit();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query = 'commit' and datname = current_database()`,
    );
    const { code, stderr } = await result;
    expect([code, stderr]).toEqual([1, expect.stringContaining('it is unknown whether anything was stored')]);
    await openGate();
  });

  test('a second one ends the command at once', async () => {
    const command = await startCommit();
    const said = command.says();
    void command.interrupt();
    await said;
    expect(await command.interrupt()).toEqual({
      code: 130,
      stdout: '',
      stderr: `${WAITING}Interrupted during the commit. Either everything was stored, or nothing.\n`,
    });
    await openGate();
  });
});

describe('an import that is refused ends although its writer goes on:', () => {
  const [WRONG_HEADER, COMPLAINT] = ['id,colour\n1,red\n', 'unknown column "colour"'];

  test('on standard input', async () => {
    const command = new RunningCommand('orders', 'import', '-');
    command.type(WRONG_HEADER);
    expect(await command.result).toMatchObject({ code: 1, stderr: expect.stringContaining(COMPLAINT) });
  });

  test('in a named pipe', async () => {
    const path = pathOf('refused');
    execFileSync('mkfifo', [path]);
    await using pipe = await open(path, 'r+');
    const command = new RunningCommand('orders', 'import', path);
    await pipe.writeFile(WRONG_HEADER);
    expect(await command.result).toMatchObject({ code: 1, stderr: expect.stringContaining(COMPLAINT) });
  });
});
