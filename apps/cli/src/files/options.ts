import { type Command, Option } from 'commander';
import type { JsonFlag } from '../arguments.ts';

export interface ImportFlags extends JsonFlag {
  readonly skipBad?: boolean;
}

/** Adds the argument and the option of {@link ImportFlags}. */
export const addImportOptions = (command: Command): Command =>
  command
    .argument('<FILE>', 'NDJSON, or CSV with a header; - reads standard input')
    .option('--skip-bad', 'Skip invalid records, and import the others');

/** The formats that can be imported again. */
const FILE_FORMATS = ['ndjson', 'csv'] as const;

export type FileFormat = (typeof FILE_FORMATS)[number];

export interface ExportFlags extends JsonFlag {
  readonly format?: FileFormat;
}

/** Adds the argument and the option of {@link ExportFlags}. */
export const addExportOptions = (command: Command): Command =>
  command
    .argument('<FILE>', 'File to write; - writes to standard output')
    .addOption(
      new Option(
        '--format <format>',
        'File format (default: csv for names that end in .csv, otherwise ndjson)',
      ).choices(FILE_FORMATS),
    );
