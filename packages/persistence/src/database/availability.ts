import type { StorageUnavailableError } from '@petstore/domain';
import { codeOf, HUNG, isHung, READ_ONLY, SQLSTATE, storageUnavailable } from './errors.ts';

/** `read-only`: a standby, or a server made so. `unavailable`: away, or {@link HUNG}. */
export type Availability =
  | { readonly state: 'up'; readonly failure: undefined }
  | { readonly state: 'read-only' | 'unavailable'; readonly failure: StorageUnavailableError };

/** What the watch has found out, by the connection that it has open, and by a new one unless that takes writes. */
export type Observation =
  | { readonly open: 'takes writes' }
  | {
      /**
       * `silent`: it did not respond in time. `lost`: there is none. `doubted`: it was not asked, because callers get none, or
       * none that takes writes.
       */
      readonly open: 'read-only' | 'silent' | 'lost' | 'doubted';
      readonly anew: NewConnection;
    };

/** What came of a new connection. */
export type NewConnection = 'takes writes' | 'read-only' | { readonly failure: unknown };

/** What is now known, and whether the connections of callers are opened anew. */
export interface Conclusion {
  readonly now: Availability;
  readonly isPoolRenewed: boolean;
}

const UP: Availability = { state: 'up', failure: undefined };

/**
 * Concludes from an observation whether PostgreSQL can be used. The connections of callers are opened anew when it can be
 * used again, or only by a new connection: those from before may be stuck, or lead to a server that has lost its address to
 * another.
 *
 * @param before what was known; `undefined` at the first observation
 */
export function next(before: Availability | undefined, seen: Observation): Conclusion {
  const anew = seen.open === 'takes writes' ? seen.open : seen.anew;
  if (anew !== 'takes writes') return { now: withoutWrites(before, seen.open, anew), isPoolRenewed: false };
  const wasAway = before !== undefined && before.state !== 'up';
  return { now: UP, isPoolRenewed: wasAway || seen.open === 'read-only' || seen.open === 'silent' };
}

function withoutWrites(
  before: Availability | undefined,
  open: Observation['open'],
  anew: Exclude<NewConnection, 'takes writes'>,
): Availability {
  if (anew === 'read-only') return { state: 'read-only', failure: READ_ONLY };
  const { failure } = anew;
  // A server without room for another connection is alive, and continues with the open ones of the callers.
  const isFull = codeOf(failure) === SQLSTATE.tooManyConnections;
  if (isFull && before?.state === 'up' && (open === 'lost' || open === 'silent')) return before;
  return { state: 'unavailable', failure: isHung(failure) ? HUNG : storageUnavailable(failure) };
}
