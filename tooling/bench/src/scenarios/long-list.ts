import { type BenchEnvironment, CONTENDERS, measureAlternately } from '../environment/bench-environment.ts';
import { download } from '../load/download.ts';
import type { ReadListReport, ReadListTask } from '../load/read-list.ts';
import type { Column, Result } from '../report.ts';
import { warmUp } from './request-load.ts';

const LIST_COLUMNS: readonly Column[] = [
  { key: 'totalMs', label: 'whole ms', digits: 0 },
  { key: 'firstByteMs', label: 'first byte ms', digits: 1 },
  { key: 'cpuMs', label: 'CPU ms', digits: 0 },
  { key: 'postgresMs', label: 'of PostgreSQL', digits: 0 },
  { key: 'peakMb', label: 'peak MB', digits: 0 },
];

const openLongList = ({ databases, options }: BenchEnvironment) => databases.fill('orders_long', options.longListCount);

/** One list, read from a server that was just started, so that the peak of its memory is that of one list. */
export async function longList(environment: BenchEnvironment): Promise<Result> {
  const databaseUrl = await openLongList(environment);
  const lengths = new Set<number>();
  const measured = await measureAlternately(environment, CONTENDERS, async (contender) => {
    await using server = await environment.startServer(contender, databaseUrl);
    await warmUp(environment, server);
    const { value, cost } = await environment.measure(server, () =>
      download(server.listUrl, environment.databases.keys.unlimited),
    );
    lengths.add(value.bytes);
    if (lengths.size > 1) throw new Error(`the lists are not equally long: ${[...lengths].join(', ')} bytes`);
    return { ...value, cpuMs: cost?.serverMs, postgresMs: cost?.postgresMs, peakMb: cost?.peakMb };
  });
  return { title: titleOf(environment), columns: LIST_COLUMNS, ...measured };
}

const CLIENT_COLUMNS: readonly Column[] = [
  { key: 'totalMs', label: 'whole ms', digits: 0 },
  { key: 'firstOrderMs', label: 'first order ms', digits: 1 },
  { key: 'cpuMs', label: 'CPU ms of the service', digits: 0 },
  { key: 'peakMb', label: 'peak MB of the service', digits: 0 },
  { key: 'clientPeakMb', label: 'peak MB of the client', digits: 0 },
];

/** The same list by the client package over both interfaces, from servers and clients that were just started. */
export async function trpcList(environment: BenchEnvironment): Promise<Result> {
  const databaseUrl = await openLongList(environment);
  const { longListCount } = environment.options;
  const measured = await measureAlternately(environment, ['tRPC', 'REST'], async (name) => {
    await using server = await environment.startServer('service', databaseUrl);
    await warmUp(environment, server);
    const task: ReadListTask = { origin: server.url, apiKey: environment.databases.keys.unlimited, interface: name };
    const { value, cost } = await environment.measure(server, () =>
      environment.runLoadProgram<ReadListReport>('read-list', task),
    );
    const { orders, ...figures } = value;
    if (orders !== longListCount) throw new Error(`${name} listed ${orders} orders, not ${longListCount}`);
    return { ...figures, cpuMs: cost?.serverMs, peakMb: cost?.peakMb };
  });
  return { title: `${titleOf(environment)} by the client package`, columns: CLIENT_COLUMNS, ...measured };
}

const titleOf = ({ options }: BenchEnvironment) => `List ${options.longListCount.toLocaleString('en')} orders`;
