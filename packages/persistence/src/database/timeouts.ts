/**
 * How long PostgreSQL may take, in milliseconds, in the order in which the times end: a call fails by the one that is
 * nearest to the cause. The pauses of looks for events, and the times of migrations and sequences, stand in their files: no
 * request waits for them.
 */
export const TIMEOUTS_MS = {
  /** The longest pause before a command tries a locked order again. It is random, so waiting commands spread out. */
  lockedOrderPause: 25,
  /** Between two checks of the watch. With `ping` and `reconnect`, a server that stops answering is known to be hung after 2.5 s. */
  watchInterval: 400,
  /** For a response on the watch's connection. If the open one gives none, the watch connects anew. */
  ping: 700,
  /** For a lock that a statement needs. The session sets it: nobody waits long for somebody else's transaction. */
  lock: 1_000,
  /** For a connection to end: a server that hangs is not waited for. */
  end: 1_000,
  /** For a connection of the watch. */
  reconnect: 1_200,
  /**
   * For transactions that write events, before a page of events is given without what is behind them. Most end at once; one
   * that waits for a lock ends after `lock`.
   */
  pageOfEvents: 1_200,
  /** For a command to get an order that others keep locked: its caller learns why it was refused. */
  lockedOrder: 2_000,
  /** For a statement of a request. The session sets it: the server ends the statement before its caller gives up. */
  statement: 2_000,
  /** For a connection of a request, and for its session's settings. */
  connect: 2_000,
  /** For the caller of one statement or several, with the waits for a connection: no request waits longer than 3 s. */
  call: 2_400,
  /** For this process between two statements of a transaction of long work. The session sets it: others wait for its locks. */
  idleInTransaction: 5_000,
  /** While the server is at its connection limit, only open connections are used for this time. */
  connectionLimit: 5_000,
  /** For a peer that sends nothing: then TCP asks it every second on our side, and every five on PostgreSQL's. */
  keepAlive: 15_000,
  /**
   * For a response on a connection of the pool, until it is given up and another one takes its place. Its caller has long
   * given up. Long work fails after the same time in which PostgreSQL takes no data, or answers nobody.
   */
  silence: 30_000,
} as const;

/** The times that differ between a server, whose requests must end in 3 s, and a command, which holds up no caller. */
export type ResponseTimeouts = Readonly<
  Record<'ping' | 'lock' | 'reconnect' | 'statement' | 'connect' | 'call' | 'silence', number>
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
        lock: patienceMs,
        reconnect: patienceMs,
        statement: 2 * patienceMs,
        connect: patienceMs,
        call: 6 * patienceMs, // the first call finds the server, checks its sessions, connects, and may take several statements
        silence: Math.max(TIMEOUTS_MS.silence, 6 * patienceMs),
      };
