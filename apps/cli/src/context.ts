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
  /** Runs work on the database, which is brought up to date before. */
  readonly withSession: <Value>(work: (session: Session) => Promise<Value>, options?: SessionOptions) => Promise<Value>;
}
