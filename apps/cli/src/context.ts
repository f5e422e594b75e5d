import type { Actor, Clock, RandomBytes } from '@petstore/domain';
import type { Interruption } from './interruption.ts';
import type { Output } from './output.ts';
import type { Session, SessionOptions } from './session.ts';

/** What commands work with. */
export interface CommandContext {
  readonly output: Output;
  /** What a signal makes of the command. */
  readonly interruption: Interruption;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** The user's working folder, which relative paths of files are relative to. */
  readonly userFolder: string;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** The user of this machine. */
  readonly operator: () => Actor;
  /** Runs work on a database that is up to date. */
  readonly withSession: RunOnSession;
  /** Runs work on the database as it is, migrated or not. */
  readonly withUnpreparedSession: RunOnSession;
}

type RunOnSession = <Value>(work: (session: Session) => Promise<Value>, options?: SessionOptions) => Promise<Value>;
