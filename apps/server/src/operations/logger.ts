import { type DestinationStream, type Logger, type LoggerOptions, pino, stdSerializers } from 'pino';
import type { LogFormat, LogLevel } from '../settings.ts';

export interface LogSettings {
  readonly level: LogLevel;
  readonly format: LogFormat;
}

/**
 * Creates the log of the process, one line per event on standard output. Keys and Authorization values never appear in
 * it: they are looked for in the finished text of each line, so that none slips through in a URL, a message or an error.
 */
export async function createLogger({ level, format }: LogSettings): Promise<Logger> {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: stdSerializers.errWithCause },
    hooks: { streamWrite: hideCredentials },
  };
  return pino(options, format === 'pretty' ? await prettyOutput() : jsonOutput());
}

function jsonOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  output.on('error', () => {}); // its reader has gone
  return output;
}

/** Loaded only if it is used. */
async function prettyOutput(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
}

// Each takes time that is linear in the text's length, whatever the text: no part can be matched in many ways.
const KEY = /(pso_(?:live|test)_[0-9A-Za-z]{8})_[0-9A-Za-z]+/g;
const AUTHORIZATION = /\b(bearer|basic)(?:\s|%20|\+)+[\w.~+/=%-]+/gi;
const HEADER = /("(?:proxy-)?authorization"\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
const URL_PASSWORD = /(:\/\/[^\s:/@"\\]*):[^\s/@"\\]+@/g;

/** Replaces credentials by ***; the public id of a key stays, so that one can see which it was. */
export function hideCredentials(line: string): string {
  return line
    .replace(HEADER, '$1"***"')
    .replace(KEY, '$1_***')
    .replace(AUTHORIZATION, '$1 ***')
    .replace(URL_PASSWORD, '$1:***@');
}
