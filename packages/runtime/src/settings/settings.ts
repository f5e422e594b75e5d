import { resolve } from 'node:path';
import type { z } from 'zod';
import type { RedisTarget } from './redis-target.ts';
import { type LogFormat, type LogLevel, type TrustProxy, VARIABLES, type VariableName } from './variables.ts';

/** What the server and the command line are told by the environment. */
export interface Settings {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** 0 takes a free one. */
  readonly adminPort: number;
  /** Where health and metrics are served, whatever {@link host} is. */
  readonly adminHost: string;
  /** Left out: embedded PostgreSQL in {@link Settings.dataFolder}. */
  readonly databaseUrl?: string;
  /** Left out: a private Redis in {@link Settings.dataFolder}, if the machine has the program. */
  readonly redis?: RedisTarget;
  /** Absolute. */
  readonly dataFolder: string;
  /** Ends in /v1. Left out: from the listener. */
  readonly publicBaseUrl?: string;
  /** Ends in /v1. */
  readonly stagingBaseUrl?: string;
  /** Whom to tell of a weakness: a `mailto:` or `https:` URI. Left out: nobody is named. */
  readonly securityContact?: string;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: TrustProxy;
  /** How many servers share the limits while Redis is away. */
  readonly instances: number;
  /** In how many processes this one serves, 1 to 64. More than one share a {@link databaseUrl} and a {@link redis}. */
  readonly processes: number;
  readonly petsSunsetAt: Date;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Whether the schema may be changed. */
  readonly migrate: boolean;
}

/** Variables whose values are wrong. The message lists them all. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  /** @param problems one sentence per variable, none with a password in it */
  constructor(problems: readonly string[]) {
    super(`These settings are wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingsOptions {
  /** What a relative DATA_DIR is relative to. */
  readonly workingFolder: string;
  /** Whether a person reads the log: its format then is `pretty` where LOG_FORMAT says nothing. */
  readonly isTerminal: boolean;
}

type Values = { [Name in VariableName]: z.output<(typeof VARIABLES)[Name]['schema']> | undefined };

/** @throws SettingsError that names every variable whose value is wrong, what it is, and what would be right */
export function readSettings(environment: Environment, { workingFolder, isTerminal }: SettingsOptions): Settings {
  const problems: string[] = [];
  const values = readVariables(environment, problems);
  const { PORT: port = 0 } = values;
  const adminPort = values.ADMIN_PORT ?? (port === 0 ? 0 : port + 1);
  if (adminPort > 65_535) problems.push('ADMIN_PORT is not set, and PORT + 1 is no port; set ADMIN_PORT');
  if (port !== 0 && adminPort === port) problems.push(complaint('ADMIN_PORT', String(port)));
  const unshared = complaintOfUnshared(environment, values.PROCESSES ?? 1);
  if (unshared !== undefined) problems.push(unshared);
  if (problems.length > 0) throw new SettingsError(problems);
  // From here on every variable with a default has a value, because there were no problems.
  const certain = values as Values & { [Name in VariablesWithDefault]: NonNullable<Values[Name]> };
  return {
    host: certain.HOST,
    port,
    adminPort,
    adminHost: certain.ADMIN_HOST,
    ...(values.DATABASE_URL !== undefined && { databaseUrl: values.DATABASE_URL }),
    ...(values.REDIS_URL !== undefined && { redis: values.REDIS_URL }),
    dataFolder: resolve(workingFolder, certain.DATA_DIR),
    ...(values.PUBLIC_BASE_URL !== undefined && { publicBaseUrl: values.PUBLIC_BASE_URL }),
    ...(values.STAGING_BASE_URL !== undefined && { stagingBaseUrl: values.STAGING_BASE_URL }),
    ...(values.SECURITY_CONTACT !== undefined && { securityContact: values.SECURITY_CONTACT }),
    corsOrigins: certain.CORS_ORIGINS,
    trustProxy: certain.TRUST_PROXY,
    instances: certain.INSTANCES,
    processes: certain.PROCESSES,
    petsSunsetAt: certain.PETS_SUNSET_AT,
    logLevel: certain.LOG_LEVEL,
    logFormat: values.LOG_FORMAT ?? (isTerminal ? 'pretty' : 'json'),
    migrate: certain.MIGRATE,
  };
}

type VariablesWithDefault = {
  [Name in VariableName]: (typeof VARIABLES)[Name] extends { readonly default: string } ? Name : never;
}[VariableName];

function readVariables(environment: Environment, problems: string[]): Values {
  const values: Partial<Record<VariableName, unknown>> = {};
  for (const [name, variable] of Object.entries(VARIABLES)) {
    const given = textOf(environment, name);
    const text = given === '' && 'default' in variable ? variable.default : given;
    if (text === '' && !('default' in variable)) continue;
    const result = variable.schema.safeParse(text);
    const variableName = name as VariableName; // Object.entries forgets the names
    if (result.success) values[variableName] = result.data;
    else problems.push(complaint(variableName, text));
  }
  return values as Values; // each value came from the schema of its own name
}

const textOf = (environment: Environment, name: string): string => environment[name]?.trim() ?? '';

/** Of what several processes share there is one; embedded servers would belong to one of them, and end with it. */
function complaintOfUnshared(environment: Environment, processes: number): string | undefined {
  const missing = (['DATABASE_URL', 'REDIS_URL'] as const).filter((name) => textOf(environment, name) === '');
  if (processes === 1 || missing.length === 0) return undefined;
  const state = `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not set`;
  return `PROCESSES is "${processes}", but ${state}; processes share their data and limits, so set both, or PROCESSES to 1`;
}

function complaint(name: VariableName, text: string): string {
  const variable = VARIABLES[name];
  const shown = 'secret' in variable ? showSecret(text) : text.split(',').map(hideCredentials).join(',');
  return `${name} is ${shown}; it must be ${variable.expected}`;
}

const SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;

/** Of a text that may hold a password anywhere only the scheme is safe to show. */
function showSecret(text: string): string {
  const scheme = SCHEME.exec(text)?.[0];
  return scheme === undefined ? 'something that does not begin like a URL' : `${scheme}... (the rest is not shown)`;
}

function hideCredentials(text: string): string {
  const shown = SCHEME.test(text) ? text.replace(/\/\/.*@/, '//***@') : text;
  return JSON.stringify(shown.length > 100 ? `${shown.slice(0, 100)}...` : shown);
}
