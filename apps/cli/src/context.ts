import type { Readable } from 'node:stream';
import type { Environment } from '@petstore/runtime';
import type { Interruption } from './interruption.ts';
import type { Output } from './output.ts';
import type { Session, SessionOptions } from './session.ts';

/** The dependencies of commands. */
export interface CommandContext {
  readonly environment: Environment;
  readonly output: Output;
  /** Reports the outcome if a signal ends the command. */
  readonly interruption: Interruption;
  readonly stdin: Readable;
  /** The user's working folder, to which relative paths of files are relative. */
  readonly userFolder: string;
  /** Runs work on the database, which is migrated first. */
  readonly withSession: <Value>(work: (session: Session) => Promise<Value>, options?: SessionOptions) => Promise<Value>;
}
