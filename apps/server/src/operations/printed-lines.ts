import { format, inspect } from 'node:util';
import type { Logger } from 'pino';
import { hideCredentials } from './logger.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

type Level = (typeof LEVELS)[number] | 'fatal';
type WriteLine = (level: (typeof LEVELS)[number], message: string, fields?: object) => void;

/** A warning of Node: a deprecation has a code. */
type Warning = Error & { readonly code?: string; readonly detail?: string };

/**
 * Makes lines of the log of what libraries print by `console`, and of the warnings of Node, which would otherwise be text
 * between lines of JSON.
 */
export const logPrintedLines = (logger: Logger): void =>
  takePrintedLines((level, message, fields = {}) => logger[level](fields, message));

/** The same until there is a log: lines of JSON on standard error. */
export const printLinesAsJson = (): void =>
  takePrintedLines((level, message, fields) => {
    try {
      printLine(level, message, fields);
    } catch {
      printLine(level, `${message} ${inspect(fields)}`); // a library must not fail because JSON has no bigint
    }
  });

function takePrintedLines(write: WriteLine): void {
  for (const level of LEVELS) console[level] = (...values) => write(level, format(...values));
  console.log = console.info;
  console.trace = console.error;
  console.dir = (value) => write('info', 'printed', { value }); // spans, with OTEL_TRACES_EXPORTER=console
  process.removeAllListeners('warning'); // Node's own listener prints them
  process.on('warning', ({ name, code, message, detail, stack }: Warning) =>
    write('warn', message, { warning: name, code, detail, stack }),
  );
}

/** One line of JSON on standard error, as the log has them: for what ends the process, whether there is a log or not. */
export const printFatal = (message: string): void => printLine('fatal', message);

function printLine(level: Level, message: string, fields?: object): void {
  const line = JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg: message });
  process.stderr.write(`${hideCredentials(line)}\n`);
}
