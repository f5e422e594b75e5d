import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdSerializers } from 'pino';
import type { Settings } from '../settings.ts';
import { hideCredentials } from './hide-credentials.ts';

/**
 * Creates the log, one line per event. Keys and Authorization values never appear in it: they are masked in the finished
 * text of each line, wherever they occur: in a URL, a message or an error.
 *
 * @param output takes the lines as JSON. @default standard output, in the format of LOG_FORMAT
 */
export async function createLogger(
  { logLevel, logFormat }: Pick<Settings, 'logLevel' | 'logFormat'>,
  output?: DestinationStream,
): Promise<Logger> {
  const options: LoggerOptions = {
    level: logLevel,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: stdSerializers.errWithCause },
    hooks: { streamWrite: hideCredentials },
  };
  return pino(options, output ?? (logFormat === 'pretty' ? await prettyOutput() : jsonOutput()));
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
