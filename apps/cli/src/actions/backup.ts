import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type BackupCounts, BackupError, type BackupHeader, countsOf, totalRowsOf } from '@petstore/persistence';
import type { StorageSettings } from '@petstore/runtime/settings';
import manifest from '../../package.json' with { type: 'json' };
import type { JsonFlag } from '../arguments.ts';
import { seal } from '../backup/sealed-file.ts';
import type { CommandContext } from '../context.ts';
import { CommandError, UsageError } from '../errors.ts';
import { describeUnfinished, replaceFile } from '../export/output-file.ts';
import { type Output, ReaderGoneError } from '../output.ts';
import { Progress } from '../progress.ts';

/** It holds the hashes of keys. */
const OWNER_ONLY = 0o600;

/** Saves all that is kept in a file. */
export async function makeBackup(context: CommandContext, file: string, { json }: JsonFlag) {
  const { output, interruption, userFolder } = context;
  if (file === '-' && output.columns !== undefined) {
    throw new UsageError('standard output is a terminal, which cannot show a backup: name a file, or redirect it');
  }
  const path = file === '-' ? undefined : resolve(userFolder, file);
  interruption.leaves(path === undefined ? 'The output is incomplete.' : describeUnfinished(path));
  const { counts, demoKeys } =
    path === undefined
      ? await save({ ...context, output: { ...output, progress() {} } }, (chunk) => writeOut(output, chunk))
      : await replaceFile(path, (write) => save(context, write), { mode: OWNER_ONLY });
  if (json && path === undefined)
    output.message(JSON.stringify(counts)); // standard output has the backup
  else if (json) await output.writeJson(counts);
  else {
    if (path !== undefined) await output.write(`${describeCounts(counts)} saved to ${path}\n`);
    if (demoKeys.length === 0) return;
    output.message(`The demo keys are in it: revoke them where others reach the service (${demoKeys.join(', ')}).`);
  }
}

/** To standard output. Progress is not shown: the program that reads it may show its own. */
async function writeOut(output: Output, chunk: Uint8Array): Promise<void> {
  try {
    await output.write(chunk);
  } catch (error) {
    if (!(error instanceof ReaderGoneError)) throw error;
    throw new CommandError(`${error.message}, and the backup is not complete`, { cause: error });
  }
}

/** The database is saved as it is: one of an earlier release is not migrated before. */
function save(
  { clock, output, withUnpreparedSession }: CommandContext,
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<{ readonly counts: BackupCounts; readonly demoKeys: readonly string[] }> {
  return withUnpreparedSession(async ({ persistence, settings }) => {
    const progress = new Progress(output, 'rows saved');
    const onProgress = (rowCount: number) => progress.advance(rowCount, fractionOf(backup.header, rowCount));
    const options = { madeBy: manifest.version, now: clock(), onProgress };
    await using backup = await persistence.backups.save(options).catch((error: unknown) => {
      if (!(error instanceof BackupError)) throw error;
      throw new CommandError(`${error.message} (${describeDatabase(settings)})`, { cause: error });
    });
    for await (const chunk of seal(backup.text)) await write(chunk);
    return { counts: countsOf(backup.header), demoKeys: findDemoKeys(settings) };
  });
}

/** Which database it is. */
function describeDatabase({ databaseUrls, dataFolder }: StorageSettings): string {
  if (databaseUrls === undefined) return `the embedded database in ${dataFolder}`;
  const { host, pathname } = new URL(databaseUrls[0]);
  return `the database ${host}${pathname} of DATABASE_URL`;
}

/** Their ids. The texts of these keys lie beside the embedded database, which alone may have them. */
function findDemoKeys({ databaseUrls, dataFolder }: StorageSettings): readonly string[] {
  const file = join(dataFolder, 'demo-keys.json');
  if (databaseUrls !== undefined || !existsSync(file)) return [];
  const keys: readonly { readonly id: string }[] = JSON.parse(readFileSync(file, 'utf8')); // as the server writes it
  return keys.map(({ id }) => id);
}

/** @returns `undefined` for a backup without rows */
export function fractionOf(header: BackupHeader, rowCount: number): number | undefined {
  const total = totalRowsOf(header);
  return total === 0 ? undefined : rowCount / total;
}

export const describeCounts = ({ orders, pets, keys, events }: BackupCounts): string =>
  `${count(orders, 'order')}, ${count(pets, 'pet')}, ${count(keys, 'key')} and ${count(events, 'event')}`;

const count = (n: number, noun: string): string => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;
