import type { Persistence, ReplicaState } from '@petstore/persistence';
import type { Logger } from 'pino';
import { type MetricFamily, renderMetric } from './exposition.ts';

const READ = {
  name: 'petstore_replica_up',
  type: 'gauge',
  help: 'Whether long lists are read from the replica.',
} as const satisfies MetricFamily;
const LAG = {
  name: 'petstore_replica_lag_bytes',
  type: 'gauge',
  help: 'How much of the log of PostgreSQL the replica had yet to replay at the last check; NaN: not known.',
} as const satisfies MetricFamily;
const READS = {
  name: 'petstore_long_reads_total',
  type: 'counter',
  help: 'Batches of long lists and searches, by the server that they were read from.',
} as const satisfies MetricFamily;

/** Where long lists are read, for Prometheus. */
export class ReplicaReads {
  #replica: Persistence['replica'];

  /** Called once, when there is something to report. */
  observe(replica: Persistence['replica']): void {
    this.#replica = replica;
  }

  /** Renders nothing where there is no replica. */
  render(): string {
    if (this.#replica === undefined) return '';
    const { state, lagBytes, readCounts } = this.#replica.report;
    return [
      renderMetric(READ, [{ value: state.readFrom === 'replica' ? 1 : 0 }]),
      renderMetric(LAG, [{ value: lagBytes ?? Number.NaN }]),
      renderMetric(
        READS,
        Object.entries(readCounts).map(([server, value]) => ({ labels: `server="${server}"`, value })),
      ),
    ].join('');
  }
}

/** Logs from where long lists are read. */
export const logReplicaChanges =
  (logger: Logger) =>
  (state: ReplicaState): void => {
    if (state.readFrom === 'replica') logger.info('long lists are read from the replica');
    else logger.warn({ reason: state.problem }, 'the replica cannot be used; long lists are read from the primary');
  };
