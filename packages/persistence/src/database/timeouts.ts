/**
 * How long PostgreSQL may take, in milliseconds, in the order in which the times end. A call fails by the time that is
 * nearest to the cause, and no request waits longer than 3 s. The pauses of looks for events, and the times of
 * migrations, stand in their files: no request waits for them.
 */
export const TIMEOUTS_MS = {
  /** The longest pause before a command tries a locked order again. It is random, so waiting commands spread out. */
  lockedOrderPause: 25,
  /** Until a caller tries again to get a connection, after the server was at its connection limit. */
  connectionLimitPause: 50,
  /** While PostgreSQL is unavailable, nobody connects more often: a server that starts is not kept busy with logins. */
  reconnectPause: 100,
  /** Between two checks of the watch. With `ping` and `find`, a server that stops answering is known to be hung after 2.5 s. */
  watchInterval: 400,
  /** For a response on the watch's open connection. After that, the watch tries a new connection. */
  ping: 700,
  /** For a lock that a statement needs. The session sets it: nobody waits long for somebody else's transaction. */
  lock: 1_000,
  /** For a connection to end: a server that hangs is not waited for. */
  end: 1_000,
  /** For a server to accept a connection and to describe itself. */
  find: 1_200,
  /**
   * For transactions that write events, before a page of events is given without what is behind them. Most end at once; one
   * that waits for a lock ends after `lock`.
   */
  pageOfEvents: 1_200,
  /**
   * For the lock under which a sequence is moved. PostgreSQL waits a second (`deadlock_timeout`) before it ends an automatic
   * vacuum for a lock, so this is longer than `lock`.
   */
  sequenceLock: 1_500,
  /** For a command to get an order that others keep locked: its caller learns why it was refused. */
  lockedOrder: 2_000,
  /** For a statement of a request. The session sets it: the server ends the statement before its caller gives up. */
  statement: 2_000,
  /** For a connection of a request: an attempt that hangs frees its slot while its caller still waits. */
  connect: 2_000,
  /** For the settings of a new session, which take two round trips. */
  session: 2_000,
  /** For the check of a pooler's sessions, which takes some fifteen round trips, once. */
  sessionCheck: 2_000,
  /** For a statement of a caller with its wait for a connection: no request waits longer than 3 s. */
  call: 2_400,
  /** For a call that may take several statements: likewise. */
  severalStatements: 2_500,
  /** For this process between two statements that insert an import. The session sets it: readers of events wait for the end. */
  importIdle: 5_000,
  /** While the server is at its connection limit, only open connections are used for this time. */
  connectionLimit: 5_000,
  /**
   * For a connection outside of the pool, until pg ends the attempt by a clock that advances while this process is
   * suspended. The time is much longer than anybody waits.
   */
  abandonedConnect: 10_000,
  /**
   * For a response on a connection of the pool, until the connection is replaced. Its caller has given up, but the
   * connection counts: if a commit waits for a standby, one on a new connection would wait as well.
   */
  silence: 30_000,
} as const;

/** The times within which a server has to respond. They are those of requests, or longer for a command. */
export type ResponseTimeouts = Readonly<
  Record<'ping' | 'find' | 'connect' | 'session' | 'sessionCheck' | 'call' | 'abandonedConnect' | 'silence', number>
>;

/**
 * @param patienceMs how long each step to a database that is far away or wakes may take; `undefined` for requests, whose
 *   callers wait
 */
export const responseTimeouts = (patienceMs: number | undefined): ResponseTimeouts =>
  patienceMs === undefined
    ? TIMEOUTS_MS
    : {
        ping: patienceMs,
        find: patienceMs,
        connect: patienceMs,
        session: patienceMs,
        sessionCheck: patienceMs,
        call: 3 * patienceMs, // the first call finds the server, checks the sessions and connects
        abandonedConnect: 3 * patienceMs,
        silence: Math.max(TIMEOUTS_MS.silence, 4 * patienceMs), // after `call`
      };

/** How often the deadlines are compared with the clock, in milliseconds. */
const TICK_MS = 50;

/** A longer gap between two ticks is a suspension, unless this process used more than a twentieth of a processor in it. */
const SUSPENSION_MIN_MS = 1_000;
const BUSY_SHARE = 0.05;

interface Wait {
  deadlineMs: number;
  readonly expire: () => void;
}

const waits = new Set<Wait>();

/** Runs while somebody waits. */
let ticker: NodeJS.Timeout | undefined;
let lastTickMs = 0;
let lastCpu = process.cpuUsage();

/**
 * Waits for work, but no longer than a timeout by the monotonic clock. The work itself continues.
 *
 * The time in which this process was suspended (by its machine, or in a frozen container) does not count: it is no silence
 * of the server. The time in which this process was busy counts, because its callers wait.
 *
 * @param late the error with which the promise is rejected
 * @param rejecters contains the function that rejects the promise early, while it is pending
 */
export function withDeadline<Value>(
  work: Promise<Value>,
  timeoutMs: number,
  late: Error,
  rejecters?: Set<(error: Error) => void>,
): Promise<Value> {
  startTicker();
  return new Promise((resolve, reject) => {
    // After a pause, timers run first, then sockets are read, then immediates run: a response that is there is used.
    const wait = { deadlineMs: performance.now() + timeoutMs, expire: () => void setImmediate(reject, late) };
    const end = () => {
      waits.delete(wait);
      rejecters?.delete(reject);
    };
    waits.add(wait);
    rejecters?.add(reject);
    work.then(end, end);
    work.then(resolve, reject);
  });
}

function startTicker(): void {
  if (ticker !== undefined) return;
  lastTickMs = performance.now();
  lastCpu = process.cpuUsage();
  ticker = setInterval(tick, TICK_MS);
}

function tick(): void {
  const nowMs = performance.now();
  const gapMs = nowMs - lastTickMs;
  const cpu = process.cpuUsage();
  const usedMs = (cpu.user + cpu.system - lastCpu.user - lastCpu.system) / 1_000;
  lastTickMs = nowMs;
  lastCpu = cpu;
  const suspendedMs = gapMs > SUSPENSION_MIN_MS && usedMs < gapMs * BUSY_SHARE ? gapMs : 0;
  for (const wait of waits) {
    wait.deadlineMs += suspendedMs;
    if (wait.deadlineMs > nowMs) continue;
    waits.delete(wait);
    wait.expire();
  }
  if (waits.size > 0) return;
  clearInterval(ticker);
  ticker = undefined;
}
