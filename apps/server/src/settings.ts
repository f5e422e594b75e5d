import { resolve } from 'node:path';
import type { Environment } from '@petstore/runtime';
import { readSettings as readValues, type SettingValues, settingsSchema } from '@petstore/runtime/settings';

/** The server's settings: those of the schema, and values that follow from several of them. */
export interface Settings extends SettingValues {
  /** An absolute path. */
  readonly dataFolder: string;
  readonly adminPort: number;
  readonly shutdownTimeoutMs: number;
  readonly logFormat: NonNullable<SettingValues['logFormat']>;
  /** Whether the server prints its addresses for people once it serves. */
  readonly showsBanner: boolean;
}

/** The default of SHUTDOWN_TIMEOUT without the delay. */
const SHUTDOWN_MS = 10_000;

export interface SettingsOptions {
  /** The folder to which a relative DATA_DIR is relative. */
  readonly workingFolder: string;
  /** Whether a person reads the log; the default of LOG_FORMAT is then `pretty`. */
  readonly isTerminal: boolean;
}

/** @throws SettingsError that names every variable with a wrong value, the value, and the right form */
export function readSettings(environment: Environment, { workingFolder, isTerminal }: SettingsOptions): Settings {
  const values = readValues(environment, settingsSchema);
  const { port, databaseUrl, shutdownDelayMs } = values;
  const usualFormat = isTerminal ? 'pretty' : 'json';
  return {
    ...values,
    dataFolder: resolve(workingFolder, values.dataFolder),
    adminPort: values.adminPort ?? (port === 0 ? 0 : port + 1),
    shutdownTimeoutMs: values.shutdownTimeoutMs ?? shutdownDelayMs + SHUTDOWN_MS,
    logFormat: values.logFormat ?? usualFormat,
    // A start without settings is probably a first try, perhaps with its output in a file.
    showsBanner: (values.logFormat ?? (databaseUrl === undefined ? 'pretty' : usualFormat)) === 'pretty',
  };
}
