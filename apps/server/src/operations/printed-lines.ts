import { format } from 'node:util';
import type { Logger } from 'pino';

/**
 * Makes lines of the log of what libraries print by `console`, and of the warnings of Node, which would otherwise be text
 * between lines of JSON.
 */
export function logPrintedLines(logger: Logger): void {
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    console[level] = (...values) => logger[level](format(...values));
  }
  console.log = console.info;
  console.trace = console.error;
  console.dir = (value) => logger.info({ value }, 'printed'); // spans, with OTEL_TRACES_EXPORTER=console
  process.removeAllListeners('warning'); // Node's own listener prints them
  process.on('warning', ({ name, message, stack }) => logger.warn({ warning: name, stack }, message));
}

/** One line of JSON on standard error, as the log has them: for what ends the process, whether there is a log or not. */
export function printFatal(message: string, now: Date): void {
  process.stderr.write(`${JSON.stringify({ level: 'fatal', time: now.toISOString(), msg: message })}\n`);
}
