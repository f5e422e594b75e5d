import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdSerializers } from 'pino';
import type { Settings } from '../settings.ts';

/**
 * Creates the log of the process, one line per event on standard output. Keys and Authorization values never appear in
 * it: they are masked in the finished text of each line, wherever they occur: in a URL, a message or an error.
 */
export async function createLogger({ logLevel, logFormat }: Pick<Settings, 'logLevel' | 'logFormat'>): Promise<Logger> {
  const options: LoggerOptions = {
    level: logLevel,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: stdSerializers.errWithCause },
    hooks: { streamWrite: hideCredentials },
  };
  return pino(options, logFormat === 'pretty' ? await prettyOutput() : jsonOutput());
}

function jsonOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  output.on('error', () => {}); // the reader has gone
  return output;
}

/** Loaded only if it is used. */
async function prettyOutput(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({ sync: true, translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
}

// Each pattern takes time linear in the text's length, whatever the text, because no part can match in several ways.
const KEY = /(pso_(?:live|demo)_[0-9A-Za-z]{8})_[0-9A-Za-z]+/g;
const AUTHORIZATION = /\b(bearer|basic)(?:\s|%20|\+)+[\w.~+/=%-]+/gi;
const HEADER = /("(?:proxy-)?authorization"\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
const URL_PASSWORD = /(:\/\/[^\s:/@"\\]*):[^\s/@"\\]+@/g;

/** Texts that may be a key with some of its characters percent-encoded, once or several times. */
const ENCODED = /[\w%]{40,}/g;
/** More often nobody encodes by mistake. */
const ENCODED_TIMES_MAX = 3;
/** A percent-encoded character of a key, or a percent sign. */
const ESCAPE = /%(25|3\d|[46][1-9a-f]|[57][\da]|5f)/gi;

/** Replaces credentials by ***. The public id of a key stays, to show which key it was. */
export function hideCredentials(line: string): string {
  return line
    .replace(ENCODED, hideEncodedKey)
    .replace(HEADER, '$1"***"')
    .replace(KEY, '$1_***')
    .replace(AUTHORIZATION, '$1 ***')
    .replace(URL_PASSWORD, '$1:***@');
}

function hideEncodedKey(text: string): string {
  let decoded = text;
  for (let times = 0; times < ENCODED_TIMES_MAX; times++) decoded = decoded.replace(ESCAPE, decodeURIComponent);
  return decoded.search(KEY) === -1 ? text : decoded;
}

/**
 * Makes lines of the log of what libraries write to the console, and of the warnings of the process, so that all output is
 * in one form.
 */
export function logLibraryOutput(logger: Logger): void {
  process.removeAllListeners('warning'); // Node's own, which prints them
  process.on('warning', ({ name, message }) => logger.warn({ warning: name }, message));
  const linesAt = (level: 'info' | 'warn') =>
    new Writable({
      decodeStrings: false,
      write(text, _encoding, done) {
        logger[level](String(text).trimEnd());
        done();
      },
    });
  globalThis.console = new Console({ stdout: linesAt('info'), stderr: linesAt('warn') });
}
