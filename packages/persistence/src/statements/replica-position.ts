import { prepareStatement, type QuerySender, runStatement, type WireConnection } from './pipelined-query.ts';

/** How far the primary's log of changes reached at some moment: all that was committed by then lies before it. */
export interface LogPosition {
  /** Which database of which cluster it is. */
  readonly identity: string;
  /** Rises with each promotion: a server that did not follow the last one may have replayed another log, as far. */
  readonly timeline: string;
  /** In digits and a slash, as PostgreSQL writes it. */
  readonly lsn: string;
}

const IDENTITY = `(select system_identifier from pg_control_system()) || '/' ||
  (select oid from pg_database where datname = current_database())`;

/**
 * What was inserted into the log, flushed or not: with `synchronous_commit = off` an order is committed before it is
 * flushed. Where nothing waits to be flushed, and a page of the log has just been filled, the position for insertions is
 * behind the header of the next page (24 or 40 bytes), which no replica reaches before there is something to write.
 */
const TAKE_POSITION = prepareStatement<readonly [identity: string, timeline: string, lsn: string]>(
  'take-log-position',
  `select ${IDENTITY}, ('x' || left(pg_walfile_name(inserted), 8))::bit(32)::int,
     case when inserted - flushed <= 40 and (flushed - '0/0') % current_setting('wal_block_size')::numeric = 0
       then flushed else inserted end
   from (select pg_current_wal_flush_lsn() as flushed, pg_current_wal_insert_lsn() as inserted offset 0) as log`,
);

/** @throws StorageUnavailableError, or PostgreSQL's own error on an engine that has no such log */
export async function takePosition(primary: QuerySender): Promise<LogPosition> {
  const [row] = await runStatement(primary, TAKE_POSITION, []);
  if (row === undefined) throw new Error('PostgreSQL returned no position');
  const [identity, timeline, lsn] = row;
  return { identity, timeline, lsn };
}

/** Only a role that may read all statistics sees the first of them; the others follow with the next checkpoint. */
const TIMELINE = `greatest(
  (select received_tli from pg_stat_wal_receiver),
  (select timeline_id from pg_control_checkpoint()),
  (select min_recovery_end_timeline from pg_control_recovery()))`;

const PROBE = prepareStatement<
  readonly [isStandby: 't' | 'f', identity: string, timeline: string, lag: string, hasFormer: 't' | 'f' | null]
>(
  'probe-replica',
  `select pg_is_in_recovery(), ${IDENTITY}, ${TIMELINE},
     greatest($1::pg_lsn - coalesce(pg_last_wal_replay_lsn(), '0/0'), 0), pg_last_wal_replay_lsn() >= $2::pg_lsn`,
);

/** What keeps a server from being read in place of the primary; constant phrases, each of which is logged once. */
export type ReplicaProblem = string;

export interface ReplicaProbe {
  readonly problem: ReplicaProblem | undefined;
  /** How much of the log it has yet to replay. */
  readonly lagBytes: number;
}

/**
 * Checks whether a server is a standby of the primary.
 *
 * @param former a position that was taken some time ago, which it should have reached
 */
export async function probeReplica(
  replica: QuerySender,
  position: LogPosition,
  former: LogPosition | undefined,
  patienceMs: number,
): Promise<ReplicaProbe> {
  const [row] = await runStatement(replica, PROBE, [position.lsn, former?.lsn ?? '0/0'], patienceMs);
  if (row === undefined) throw new Error('the replica returned no row');
  const [isStandby, identity, timeline, lag, hasFormer] = row;
  return { problem: problemOf(), lagBytes: Number(lag) };

  function problemOf(): ReplicaProblem | undefined {
    if (identity !== position.identity) return 'it is not a copy of the database in DATABASE_URL';
    if (isStandby !== 't') return 'it is no standby';
    if (timeline !== position.timeline) return `it is on timeline ${timeline}, the primary on ${position.timeline}`;
    return hasFormer === 't' ? undefined : 'it is more than a second behind';
  }
}

/** Of which log each connection has been seen to be a replica. */
const KNOWN_LOGS = new WeakMap<WireConnection, string>();

/** Division by zero. */
const NOT_PASSED = '22012';

/** Whether the error says that the server has not replayed enough, or is no standby. */
export const isNotReplayed = (error: Error): boolean => 'code' in error && error.code === NOT_PASSED;

/**
 * A statement that fails where the server has not replayed the log up to a position. It goes before the one that reads,
 * in the same query: on one connection, because two may lead to different servers, and as a statement of its own, because
 * a statement sees what had been replayed when it began.
 */
export class PositionGuard {
  readonly #position: LogPosition;
  #connection: WireConnection | undefined;

  constructor(position: LogPosition) {
    this.#position = position;
  }

  statementFor(connection: WireConnection): string {
    this.#connection = connection;
    const { identity, timeline, lsn } = this.#position;
    // The rest costs more than some batches, and stays true of a connection as long as its server is a standby.
    const isReplica =
      KNOWN_LOGS.get(connection) === this.#log ? '' : ` and ${IDENTITY} = '${identity}' and ${TIMELINE} = ${timeline}`;
    return `select 1 / coalesce(pg_is_in_recovery() and pg_last_wal_replay_lsn() >= '${lsn}'${isReplica}, false)::int; `;
  }

  pass(): void {
    if (this.#connection !== undefined) KNOWN_LOGS.set(this.#connection, this.#log);
  }

  get #log(): string {
    return `${this.#position.identity}@${this.#position.timeline}`;
  }
}
