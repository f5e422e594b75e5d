import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../lab/contenders.ts';
import type { Cost, Lab, RunningServer } from '../lab/lab.ts';
import { rssMbOf } from '../lab/process-cost.ts';
import { sendLoad } from './request-load.ts';
import { UNKNOWN_ORDER } from './scenario.ts';

interface FreshCost extends Cost {
  /** By how much the peak is above what the process had at rest, in MB. */
  readonly growthMb: number;
}

/** Lets a fresh process do something, so that its memory is that of this alone, and tells what it cost. */
export async function measureFresh<Value>(
  lab: Lab,
  contender: Contender,
  databaseUrl: string,
  work: (server: RunningServer) => Promise<Value>,
): Promise<{ value: Value; cost?: FreshCost }> {
  await using server = await lab.startServer(contender, databaseUrl);
  await settle(lab, server);
  const idleMb = rssMbOf(server.pids());
  const { value, cost } = await lab.measure(server, () => work(server));
  return { value, ...(cost && { cost: { ...cost, growthMb: cost.peakMb - idleMb } }) };
}

/** Makes a fresh process do a little of everything, so that a list finds what is loaded once already there. */
export async function settle(lab: Lab, { url }: RunningServer): Promise<void> {
  await sendLoad(lab, 404, {
    origin: url,
    method: 'DELETE',
    path: `/v1/store/orders/${UNKNOWN_ORDER}`,
    apiKey: lab.databases.keys.unlimited,
    connections: 4,
    seconds: 0.3,
  });
  await sleep(300);
}
