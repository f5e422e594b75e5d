import { resolve } from 'node:path';
import { z } from 'zod';
import { type DatabaseUrls, parseDatabaseUrls } from './database-urls.ts';
import { type Environment, isNamed, onOrOff, parsedBy, readVariables, type VariableValues } from './read-variables.ts';
import { parseRedisTarget, type RedisTarget } from './redis-target.ts';

/** Where the data and the limits are kept: what the server and the command line both read. */
export interface StorageSettings {
  /** `undefined`: embedded PostgreSQL in {@link dataFolder}. */
  readonly databaseUrls?: DatabaseUrls | undefined;
  /** `undefined`: a private Redis in {@link dataFolder}, if the machine has the program. */
  readonly redis?: RedisTarget | undefined;
  /** Begins the name of every key in Redis, so that two deployments can share one. */
  readonly redisPrefix: string;
  /** Absolute path. */
  readonly dataFolder: string;
  /** Whether the schema may be changed. */
  readonly migrate: boolean;
}

export const STORAGE_VARIABLES = {
  DATABASE_URL: parsedBy(parseDatabaseUrls)
    .optional()
    .meta({
      description:
        'the address of a PostgreSQL database, postgres://user:password@host:5432/database (several hosts separated by ' +
        'commas where it has standbys, without target_session_attrs or with read-write)',
      secret: true,
    }),
  REDIS_URL: parsedBy(parseRedisTarget)
    .optional()
    .meta({
      description:
        'redis://user:password@host:6379/0 (rediss:// for TLS), several of these separated by commas for a cluster ' +
        '(all with the same user and password, and no database), or redis+sentinel://host:26379,host:26379/master-name',
      secret: true,
    }),
  REDIS_PREFIX: z
    .string()
    .regex(/^[\w.:-]{0,40}$/)
    .default('')
    .describe('1 to 40 letters, digits and . : _ -, such as shop: (no braces, which would bind all keys to one slot)'),
  DATA_DIR: z.string().default('.data').describe('a folder'),
  MIGRATE: onOrOff('on'),
};

/**
 * @param workingFolder what a relative DATA_DIR is relative to
 * @throws SettingsError
 */
export const readStorageSettings = (environment: Environment, workingFolder: string): StorageSettings =>
  toStorageSettings(
    readVariables(environment, STORAGE_VARIABLES, (values) => findStorageConflicts(environment, values)),
    workingFolder,
  );

/** NODE_ENV has no list of values to be checked against: what can be meant by it is taken as meant. */
const PRODUCTION = /^\s*prod(?:uction)?\s*$/i;

/** Problems between the variables of storage. */
export function findStorageConflicts(
  environment: Environment,
  { DATABASE_URL }: Partial<VariableValues<typeof STORAGE_VARIABLES>>,
): readonly string[] {
  const isSet = DATABASE_URL !== undefined || isNamed(environment, 'DATABASE_URL');
  if (!PRODUCTION.test(environment['NODE_ENV'] ?? '') || isSet) return [];
  return ['DATABASE_URL is not set, and there is no embedded database in production; set DATABASE_URL'];
}

export const toStorageSettings = (
  { DATABASE_URL, REDIS_URL, REDIS_PREFIX, DATA_DIR, MIGRATE }: VariableValues<typeof STORAGE_VARIABLES>,
  workingFolder: string,
): StorageSettings => ({
  databaseUrls: DATABASE_URL,
  redis: REDIS_URL,
  redisPrefix: REDIS_PREFIX,
  dataFolder: resolve(workingFolder, DATA_DIR),
  migrate: MIGRATE,
});
