import type { LogFormat, LogLevel } from '@petstore/runtime';
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdSerializers } from 'pino';

export interface LogSettings {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Where several processes write one log: which of them each line comes from. */
  readonly processNumber?: number | undefined;
}

/**
 * Creates the log of the process, one line per event on standard output. Keys and Authorization values never appear in
 * it: they are looked for in the finished text of each line, so that none slips through in a URL, a message or an error.
 */
export async function createLogger({ level, format, processNumber }: LogSettings): Promise<Logger> {
  const options: LoggerOptions = {
    level,
    base: processNumber === undefined ? null : { process: processNumber },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: stdSerializers.errWithCause },
    hooks: { streamWrite: hideCredentials },
  };
  return pino(options, format === 'pretty' ? await prettyOutput() : jsonOutput());
}

function jsonOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  output.on('error', () => {}); // nobody reads it any more
  return output;
}

/** Loaded only where a person reads along. */
async function prettyOutput(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
}

// Whatever the text, each is read in time that is linear in its length: no part of it can be matched in many ways.
const KEY = /(pso_(?:live|test)_[0-9A-Za-z]{8})_[0-9A-Za-z]+/g;
const AUTHORIZATION = /\b(bearer|basic)(?:\s|%20|\+)+[\w.~+/=%-]+/gi;
const HEADER = /("(?:proxy-)?authorization"\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
const URL_PASSWORD = /(:\/\/[^\s:/@"\\]*):[^\s/@"\\]+@/g;

/** Replaces whatever opens a door by ***; the public id of a key stays, so that one can tell which it was. */
export function hideCredentials(line: string): string {
  return line
    .replace(HEADER, '$1"***"')
    .replace(KEY, '$1_***')
    .replace(AUTHORIZATION, '$1 ***')
    .replace(URL_PASSWORD, '$1:***@');
}
