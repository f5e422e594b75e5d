import { resolve } from 'node:path';
import type { Environment } from '@petstore/runtime';
import { readSettings as readValues, type SettingValues, settingsSchema } from '@petstore/runtime/settings';

/** What the environment sets of the server: each setting of the schema, and what follows from several of them. */
export interface Settings extends SettingValues {
  /** Absolute path. */
  readonly dataFolder: string;
  readonly adminPort: number;
  readonly shutdownTimeoutMs: number;
  readonly logFormat: LogFormat;
  /** Whether the server prints its addresses for people to read, once it serves. */
  readonly showsBanner: boolean;
}

export type LogLevel = SettingValues['logLevel'];
export type LogFormat = NonNullable<SettingValues['logFormat']>;

/** What a shutdown may take after its delay if SHUTDOWN_TIMEOUT says nothing. */
const SHUTDOWN_MS = 10_000;

export interface SettingsOptions {
  /** What a relative DATA_DIR is relative to. */
  readonly workingFolder: string;
  /** Whether a person reads the log: its format is `pretty` then if LOG_FORMAT says nothing. */
  readonly isTerminal: boolean;
}

/** @throws SettingsError that names every variable whose value is wrong, what it is, and what would be right */
export function readSettings(environment: Environment, { workingFolder, isTerminal }: SettingsOptions): Settings {
  const values = readValues(environment, settingsSchema);
  const { port, databaseUrls, shutdownDelayMs } = values;
  const usualFormat = isTerminal ? 'pretty' : 'json';
  return {
    ...values,
    dataFolder: resolve(workingFolder, values.dataFolder),
    adminPort: values.adminPort ?? (port === 0 ? 0 : port + 1),
    shutdownTimeoutMs: values.shutdownTimeoutMs ?? shutdownDelayMs + SHUTDOWN_MS,
    logFormat: values.logFormat ?? usualFormat,
    // Without settings this is a first try of the start command, perhaps with its output in a file.
    showsBanner: (values.logFormat ?? (databaseUrls === undefined ? 'pretty' : usualFormat)) === 'pretty',
  };
}
