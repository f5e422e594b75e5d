import type { StorageUnavailableError } from '@petstore/domain';
import { codeOf, HUNG, isHung, READ_ONLY, SQLSTATE, storageUnavailable } from './errors.ts';

/** `hung`: connections are accepted or stay open, but no response comes. `read-only`: a standby, or a server made so. */
export type Availability =
  | { readonly state: 'up'; readonly failure: undefined }
  | { readonly state: 'read-only' | 'hung' | 'unavailable'; readonly failure: StorageUnavailableError };

/** What the watch has found out. */
export interface Observation {
  /**
   * What came of the open connection: `silent` is no response in time, `lost` any other failure. `doubted`: it was not asked,
   * because callers get no connection at all. `none`: there was none.
   */
  readonly open: 'takes writes' | 'read-only' | 'silent' | 'lost' | 'doubted' | 'none';
  /** What came of a new connection, which is opened unless the open one takes writes. */
  readonly anew?: 'takes writes' | 'read-only' | Error;
}

/** What is now known, and whether the connections of callers are opened anew. */
export interface Conclusion {
  readonly now: Availability;
  readonly isPoolRenewed: boolean;
}

const UP: Availability = { state: 'up', failure: undefined };

/**
 * Concludes from an observation whether PostgreSQL can be used. The connections of callers are opened anew when it can be
 * used again: those from before may be stuck, or lead to a server that has lost its address to another.
 *
 * @param before what was known; `undefined` at the first observation
 */
export function next(before: Availability | undefined, { open, anew = 'takes writes' }: Observation): Conclusion {
  if (anew === 'takes writes') return { now: UP, isPoolRenewed: before?.state !== 'up' || open === 'read-only' };
  return { now: withoutWrites(before, open, anew), isPoolRenewed: false };
}

function withoutWrites(
  before: Availability | undefined,
  open: Observation['open'],
  anew: 'read-only' | Error,
): Availability {
  if (anew === 'read-only') return { state: 'read-only', failure: READ_ONLY };
  if (isHung(anew)) return { state: 'hung', failure: HUNG };
  // A server without room for another connection is alive, and continues with the open ones of the callers.
  const isFull = codeOf(anew) === SQLSTATE.tooManyConnections;
  if (isFull && before?.state === 'up' && open !== 'doubted') return before;
  return { state: 'unavailable', failure: storageUnavailable(anew) };
}
