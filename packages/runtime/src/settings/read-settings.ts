import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { describeFileError } from '../errors.ts';
import { type SettingText, type SettingValues, type StorageSettings, storageSchema, textOf } from './schema.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Some settings are wrong. The message lists them all, without passwords. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  /** @param problems one sentence for each problem */
  constructor(problems: readonly string[]) {
    super(`Invalid settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/**
 * Reads the settings that the command line needs.
 *
 * @param workingFolder the folder to which a relative DATA_DIR is relative
 * @throws SettingsError
 */
export function readStorageSettings(environment: Environment, workingFolder: string): StorageSettings {
  const values = readSettings(environment, storageSchema);
  return { ...values, dataFolder: resolve(workingFolder, values.dataFolder) };
}

/**
 * Reads only the settings in a schema, which is `settingsSchema` or a part of it.
 *
 * @throws SettingsError that names every variable with a wrong value, the value, and the right form
 */
export function readSettings<Schema extends z.ZodObject>(environment: Environment, schema: Schema): z.output<Schema> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [field, fieldSchema] of Object.entries(schema.shape)) {
    const setting = textOf(fieldSchema);
    const { variable, mustBe, isSecret = false } = setting;
    const { text, source = variable, problem } = readText(environment, setting);
    const result = z.safeParse(fieldSchema, text || undefined, { error: () => `it must be ${mustBe}` });
    if (problem !== undefined) problems.push(problem);
    else if (result.success) values[field] = result.data;
    else problems.push(`${source} is ${show(text ?? '', isSecret)}; ${result.error.issues[0]?.message}`);
  }
  problems.push(...findConflicts(environment, values));
  if (problems.length > 0) throw new SettingsError(problems);
  return values as z.output<Schema>; // each came from the schema of its own field
}

/** The value of a variable, or of the file that `NAME_FILE` names; or the problem with them. */
function readText(
  environment: Environment,
  { variable, isSecret }: SettingText,
): { text?: string; source?: string; problem?: string } {
  const text = environment[variable]?.trim();
  const fileVariable = `${variable}_FILE`;
  const file = isSecret ? environment[fileVariable]?.trim() : undefined;
  if (isSecret && text === '') return { problem: `${variable} is set but empty; give it a value, or unset it` };
  if (file === undefined) return text === undefined ? {} : { text };
  if (file === '') return { problem: `${fileVariable} is set but empty; it must be the path of a file, or be unset` };
  if (text !== undefined) return { problem: `${variable} and ${fileVariable} are both set; set one of them` };
  try {
    const content = readFileSync(file, 'utf8').trim();
    if (content !== '') return { text: content, source: `${variable}, in the file of ${fileVariable},` };
    return {
      problem: `${fileVariable} is ${JSON.stringify(file)}, which is empty; it must contain the value of ${variable}`,
    };
  } catch (error) {
    return { problem: `${fileVariable} is ${JSON.stringify(file)}, which cannot be read: ${describeFileError(error)}` };
  }
}

/** NODE_ENV has no fixed list of values, so every common spelling is accepted. */
const isProduction = (environment: Environment): boolean =>
  /^\s*prod(?:uction)?\s*$/i.test(environment['NODE_ENV'] ?? '');

/** Conflicts between settings that are valid by themselves. `values` lacks settings that are invalid or not read. */
function findConflicts(environment: Environment, values: Partial<SettingValues>): readonly string[] {
  const { port, adminPort, instances = 1, shutdownDelayMs = 0, shutdownTimeoutMs } = values;
  const isNamed = (variable: string) =>
    environment[variable] !== undefined || environment[`${variable}_FILE`] !== undefined;
  const rules: readonly (readonly [isBroken: boolean, problem: string])[] = [
    [
      isProduction(environment) && !isNamed('DATABASE_URL'),
      'DATABASE_URL is not set, and there is no embedded database in production; set DATABASE_URL',
    ],
    [
      instances > 1 && !isNamed('REDIS_URL'),
      `INSTANCES is ${instances}, and several servers need one Redis to count limits together; set REDIS_URL`,
    ],
    [
      shutdownTimeoutMs !== undefined && shutdownTimeoutMs <= shutdownDelayMs,
      'SHUTDOWN_TIMEOUT is not longer than SHUTDOWN_DELAY; requests need time to complete after the delay: set a longer one',
    ],
    [
      port === 65_535 && !environment['ADMIN_PORT']?.trim(),
      'ADMIN_PORT is not set, and PORT + 1 is not a valid port; set ADMIN_PORT',
    ],
    [
      port !== undefined && port !== 0 && port === adminPort,
      `ADMIN_PORT is "${port}"; it must be a port, or 0 for a free one, other than PORT`,
    ],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem);
}

function show(text: string, isSecret: boolean): string {
  if (!isSecret) {
    const shown = text.replace(/\/\/[^,]*@/g, '//***@'); // a password, perhaps of a URL in a list
    return JSON.stringify(shown.length > 100 ? `${shown.slice(0, 100)}...` : shown);
  }
  const scheme = /^[a-z][a-z\d+.-]*:\/\//i.exec(text)?.[0]; // the rest may hold a password anywhere
  return scheme === undefined ? 'something that does not begin like a URL' : `${scheme}... (the rest is not shown)`;
}
