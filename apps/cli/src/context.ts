import type { Clock, RandomBytes } from '@petstore/domain';
import type { Output } from './output.ts';
import type { Session } from './session.ts';

/** What every command is given. */
export interface CommandContext {
  readonly output: Output;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** What relative paths of files are relative to: where the user is. */
  readonly userFolder: string;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Runs work on a database that is up to date. */
  readonly withSession: <Value>(work: (session: Session) => Promise<Value>) => Promise<Value>;
  /** The same on the database as it is. */
  readonly withUnpreparedSession: <Value>(work: (session: Session) => Promise<Value>) => Promise<Value>;
}
