import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runOrThrow } from './run-command.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const SERVER = join(ROOT, 'apps/server/src/main.js');
const PETSTORE = join(ROOT, 'apps/cli/src/main.js');

export type OrderState = 'pending' | 'shipped' | 'cancelled';

/** The orders of one trial: their ids, and the quantities by which they are found. */
export interface Orders {
  readonly small: bigint;
  /** Beyond 2^53 and odd, so that a double has to round it. */
  readonly large: bigint;
  /** What `large` is rounded to. */
  readonly neighbour: bigint;
  readonly quantities: { readonly small: number; readonly large: number };
}

/** The service, started by its documented command, with data of its own. */
export interface Service extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  /** Three pending orders that no earlier trial has touched. */
  addOrders(): Promise<Orders>;
  stateOf(id: bigint): Promise<OrderState>;
}

export async function startService(): Promise<Service> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'petstore-tools-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const env = { DATA_DIR: folder, PETS_SUNSET_AT: '2999-12-31' };
  const server = spawn(process.execPath, [SERVER], {
    env: { ...env, PATH: process.env['PATH'], PORT: '0', LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  stack.defer(() => stop(server));
  const url = await listeningUrl(server);
  // Enterprise, so that no limit is in the way.
  const keys: { plan: string; text: string }[] = JSON.parse(readFileSync(join(folder, 'demo-keys.json'), 'utf8'));
  const apiKey = keys.find(({ plan }) => plan === 'enterprise')?.text;
  if (apiKey === undefined) throw new Error('there is no demo key of the plan enterprise');
  let trials = 0n;
  const owned = stack.move();
  return {
    url,
    apiKey,
    async addOrders() {
      const orders = ordersOf(++trials);
      await runOrThrow([process.execPath, PETSTORE, 'orders', 'import', '-'], {
        cwd: ROOT,
        env,
        input: linesOf(orders),
      });
      return orders;
    },
    async stateOf(id) {
      const headers = { Authorization: `Bearer ${apiKey}` };
      const response = await fetch(`${url}/v2/store/orders/${id}`, { headers });
      if (!response.ok) throw new Error(await response.text());
      const { status } = (await response.json()) as { status: OrderState }; // as documented
      return status;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const FIRST_QUANTITY = 1_000_000;

function ordersOf(trial: bigint): Orders {
  // Doubles are two apart here. A number between two of them goes to the one that four divides.
  const neighbour = 2n ** 53n + 4n * trial;
  const quantity = FIRST_QUANTITY + 10 * Number(trial);
  return {
    small: 1_000n + trial,
    large: neighbour + 1n,
    neighbour,
    quantities: { small: quantity, large: quantity + 1 },
  };
}

/** As bare digits, which JSON.stringify could not write. */
const linesOf = ({ small, large, neighbour, quantities }: Orders): string =>
  [
    [small, quantities.small],
    [large, quantities.large],
    [neighbour, quantities.large + 1],
  ]
    .map(([id, quantity]) => `{"id":${id},"petId":9223372036854775807,"quantity":${quantity},"complete":false}\n`)
    .join('');

async function listeningUrl({ stdout }: ChildProcess): Promise<string> {
  let output = '';
  for await (const text of stdout?.setEncoding('utf8').iterator({ destroyOnReturn: false }) ?? []) {
    output += text;
    const [, url] = /"listening on (http:[^"]+)"/.exec(output) ?? [];
    if (url === undefined) continue;
    stdout?.resume(); // no longer read, and the service must not block on it
    return url;
  }
  throw new Error(`the service did not start:\n${output}`);
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGTERM');
  await once(server, 'exit');
}
