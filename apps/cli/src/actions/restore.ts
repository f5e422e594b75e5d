import { resolve } from 'node:path';
import { StorageUnavailableError } from '@petstore/domain';
import { BackupError, type BackupHeader, countsOf, inspectBackup } from '@petstore/persistence';
import type { JsonFlag } from '../arguments.ts';
import { checkSeal, unseal } from '../backup/sealed-file.ts';
import type { CommandContext } from '../context.ts';
import { CommandError } from '../errors.ts';
import { readInputFile, sizeOf } from '../input-file.ts';
import { Progress } from '../progress.ts';
import { MAY_MAKE_DATABASE } from '../session.ts';
import { describeCounts, fractionOf } from './backup.ts';

/** @returns the bytes of the file, each time from its beginning; standard input and pipes have only one */
function sourceOf({ stdin, userFolder }: CommandContext, file: string): () => AsyncIterable<Uint8Array> {
  return file === '-' ? () => stdin : () => readInputFile(resolve(userFolder, file));
}

/** Checks a file of `petstore backup`, and prints what it holds. */
export async function checkBackup(context: CommandContext, file: string, { json }: JsonFlag) {
  const header = await inspectBackup(unseal(sourceOf(context, file)()));
  await report(context, header, json === true, 'in');
}

const OUTCOMES = {
  reading: 'nothing was restored',
  committing: 'whether it was restored is not known: check whether the orders are there',
  restored: 'the backup was restored',
} as const;

/** Puts a file of `petstore backup` back into a database. */
export async function restoreBackup(context: CommandContext, file: string, { json }: JsonFlag) {
  const { output, interruption, withUnpreparedSession } = context;
  const source = sourceOf(context, file);
  const progress = new Progress(output, 'rows restored');
  let stage: keyof typeof OUTCOMES = 'reading';
  interruption.leaves('Nothing was restored.');
  try {
    // So that not even the schema is changed for a file that is damaged. A pipe can be read only once.
    if (file !== '-' && sizeOf(resolve(context.userFolder, file)) !== undefined) await checkSeal(source());
    let begun: BackupHeader | undefined;
    const header = await withUnpreparedSession(async ({ persistence, settings }) => {
      const restored = await persistence.backups.restore(unseal(source()), {
        mayMigrate: settings.migrate,
        onBegin(header) {
          begun = header;
        },
        onProgress(rowCount) {
          if (begun !== undefined) progress.advance(rowCount, fractionOf(begun, rowCount));
        },
        onCommit() {
          stage = 'committing';
          progress.awaits('committing');
          interruption.commits();
        },
      });
      stage = 'restored';
      interruption.leaves('The backup was restored.');
      return restored;
    }, MAY_MAKE_DATABASE);
    await report(context, header, json === true, 'restored from');
  } catch (error) {
    const isRefusal = [BackupError, CommandError, StorageUnavailableError].some((kind) => error instanceof kind);
    throw isRefusal ? new CommandError(`${(error as Error).message}; ${OUTCOMES[stage]}`, { cause: error }) : error;
  }
}

async function report({ output }: CommandContext, header: BackupHeader, json: boolean, how: string): Promise<void> {
  const counts = countsOf(header);
  if (json) return output.writeJson(counts);
  const { madeAt, madeBy } = header;
  await output.write(
    `${describeCounts(counts)} ${how} a backup of ${madeAt.toISOString()}, made by version ${madeBy}\n`,
  );
}
