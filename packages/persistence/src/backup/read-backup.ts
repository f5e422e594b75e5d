import {
  type BackupHeader,
  decodeHeader,
  decodeSection,
  END_LINE,
  notABackup,
  type SectionHeader,
} from './backup-header.ts';
import type { SavedTableName } from './saved-tables.ts';
import { countLines, SectionReader } from './section-reader.ts';

/** @throws BackupError where it is no backup, or one of a newer release */
export const readHeader = async (reader: SectionReader): Promise<BackupHeader> => decodeHeader(await reader.line());

/**
 * Reads what follows the header, to the end of the text.
 *
 * @param take reads the rows of a table to their end, and says how many there were
 * @throws BackupError where they are not those that the header has counted
 */
export async function readSections(
  reader: SectionReader,
  { rows: expected }: BackupHeader,
  take: (section: SectionHeader, rows: AsyncIterable<Buffer>) => Promise<number>,
): Promise<void> {
  const taken = new Map<SavedTableName, number>();
  for (let line = await reader.line(); line !== END_LINE; line = await reader.line()) {
    const section = decodeSection(line);
    taken.set(section.table, await take(section, reader.rows()));
  }
  const isComplete = taken.size === expected.size && [...expected].every(([table, n]) => taken.get(table) === n);
  if ((await reader.drain()) || !isComplete) throw notABackup();
}

/**
 * Reads a backup to its end, and restores nothing.
 *
 * @throws BackupError where this release could not restore it, and what the text throws
 */
export async function inspectBackup(text: AsyncIterable<Uint8Array>): Promise<BackupHeader> {
  const reader = new SectionReader(text);
  try {
    const header = await readHeader(reader);
    await readSections(reader, header, async (_, rows) => {
      let count = 0;
      for await (const chunk of rows) count += countLines(chunk);
      return count;
    });
    return header;
  } finally {
    await reader.close();
  }
}
