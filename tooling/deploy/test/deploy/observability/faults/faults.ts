import type { Severity } from '../../../observability/support/committed-files.ts';

interface FaultDescription {
  readonly alert: string;
  readonly severity: Severity;
  readonly what: string;
  /** How long the fault lasts. @default 30 */
  readonly minutes?: number;
}

const page = (alert: string, what: string): FaultDescription => ({ alert, severity: 'page', what });
const ticket = (alert: string, what: string): FaultDescription => ({ alert, severity: 'ticket', what });

const DESCRIPTIONS = {
  'all servers killed': page('PetstoreDown', 'both servers were killed'),
  'PostgreSQL frozen': page('PetstorePostgresDown', 'PostgreSQL was stopped by SIGSTOP'),
  'PostgreSQL killed': page('PetstorePostgresDown', 'PostgreSQL was killed'),
  'PostgreSQL read-only': page('PetstoreNotReady', 'the database was made read-only'),
  'too many lists': page('PetstoreOverloaded', 'more than 200 lists whose readers take nothing'),
  'table locked': page('PetstorePostgresSlow', 'a transaction holds the table of orders locked'),
  'column renamed': page('PetstoreErrorBudgetBurn', 'a column of pets was renamed; one request in 20 looks up a pet'),
  'column renamed, rarely read': {
    ...ticket('PetstoreErrorBudgetBurn', 'the same column; one request in 100 looks up a pet'),
    minutes: 240,
  },
  'one server killed': ticket('PetstoreServerUnavailable', 'one of two servers was killed'),
  'server restarted': {
    ...ticket('PetstoreRestarting', 'a server was killed and started three times'),
    minutes: 12,
  },
  'processor taken away': ticket('PetstoreEventLoopLag', 'a server was stopped for 0.3 s of each 0.4 s'),
  'memory leaks': ticket('PetstoreMemoryNearLimit', 'a server keeps most of its heap in use'),
  'many lists': ticket('PetstoreNearCapacity', '176 lists whose readers take nothing'),
  // Statements wait while a connection is opened, which takes ten round trips.
  'slow network': page('PetstorePostgresSlow', 'PostgreSQL responds 0.6 s later'),
  'slow trigger': ticket('PetstoreRequestsSlow', 'a trigger makes each change of orders 0.6 s longer'),
  'slow readers': ticket('PetstoreListsCut', 'eight readers of lists take nothing'),
  'retries without a wait': ticket('PetstoreBanSurge', 'twelve keys repeat at once what was refused'),
  'forged keys': ticket('PetstoreInvalidKeys', 'an address tries keys'),
  'sunset in ten days': ticket('PetstoreSunsetNear', 'a deprecated operation is used ten days before its end'),
  'Redis killed': ticket('PetstoreLimitsDegraded', 'Redis was killed'),
  'Redis blocked': ticket('PetstoreRedisSlow', 'a client runs commands in Redis that take 60 ms each'),
} as const satisfies Readonly<Record<string, FaultDescription>>;

export type FaultName = keyof typeof DESCRIPTIONS;

/** The faults that are injected into real servers, each with the alert that it has to raise. */
export const FAULTS: Readonly<Record<FaultName, FaultDescription>> = DESCRIPTIONS;
