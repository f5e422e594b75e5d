import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from './seeded-random.ts';
import { query } from './stored-order.ts';
import type { TestedService } from './tested-service.ts';

/** Something that goes wrong, and is well again when it is done. */
interface Fault {
  /** How often it comes before all faults have come. */
  readonly share: number;
  run(service: TestedService, random: SeededRandom): Promise<void>;
}

export const FAULTS = {
  'SIGKILL of a server': {
    share: 3,
    async run({ servers }, random) {
      const server = random.pick(servers);
      const downMs = random.between(0, 1_000);
      await server.kill();
      await sleep(downMs);
      await server.restart();
    },
  },
  'a server frozen': {
    share: 2,
    async run({ servers }, random) {
      await frozen(random.pick(servers).pid, random.between(50, 1_500));
    },
  },
  'backends terminated': {
    share: 4,
    async run({ postgres }, random) {
      const [count, chosen] = random.pick([
        [1, 0],
        [2, 0],
        [2, 1],
        [5, 3],
      ] as const);
      const ofService = await backendPids(postgres.url);
      const pids = ofService.filter((pid) => pid % count === chosen);
      await query(postgres.url, 'select pg_terminate_backend(pid) from unnest($1::integer[]) as pid', [pids]);
    },
  },
  'a backend frozen': {
    share: 2,
    async run({ postgres }, random) {
      const choice = random.next();
      const forMs = random.between(100, 3_000);
      const pids = await backendPids(postgres.url);
      const pid = pids[Math.floor(choice * pids.length)];
      if (pid !== undefined) await frozen(pid, forMs);
    },
  },
  'PostgreSQL frozen': {
    share: 2,
    run: (service, random) => service.freezePostgres(random.between(100, 4_000)),
  },
  'PostgreSQL killed and restarted': {
    share: 1,
    run: (service, random) => service.crashPostgres(random.between(0, 1_000)),
  },
  failover: {
    share: 2,
    run: (service, random) =>
      service.failOver({
        awayMs: Math.max(0, random.between(-1_000, 1_500)),
        readOnlyMs: Math.max(0, random.between(-1_000, 1_500)),
      }),
  },
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

/** Faults without an end. In a random order, but none comes again before all others have come as often as they should. */
export function* faultsInTurn(random: SeededRandom): Generator<FaultName, never> {
  const names = Object.keys(FAULTS) as FaultName[]; // its own keys
  for (;;) {
    const left = names.flatMap((name) => Array<FaultName>(FAULTS[name].share).fill(name));
    while (left.length > 0) {
      const [name] = left.splice(Math.floor(random.next() * left.length), 1);
      if (name !== undefined) yield name;
    }
  }
}

/** Sessions of the servers, and of no standby. */
async function backendPids(url: string): Promise<readonly number[]> {
  const rows = await query(
    url,
    `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by pid`,
  );
  return rows.map(({ pid }) => Number(pid));
}

async function frozen(pid: number, forMs: number): Promise<void> {
  if (!signal(pid, 'SIGSTOP')) return;
  await sleep(forMs);
  signal(pid, 'SIGCONT');
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // it has ended
  }
}
