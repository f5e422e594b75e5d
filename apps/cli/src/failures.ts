import { StorageUnavailableError } from '@petstore/domain';
import { describeDenial, SchemaError } from '@petstore/persistence';
import { RuntimeError } from '@petstore/runtime';
import { SettingsError } from '@petstore/runtime/settings';
import { CommandError } from './errors.ts';
import { UnreadableInputError } from './files/record.ts';
import type { Interruption } from './interruption.ts';

export const isWrongSetting = (error: unknown): boolean => error instanceof SettingsError;

/** Why a command failed, in one line. */
export function describeFailure(error: unknown, { isCommitting }: Pick<Interruption, 'isCommitting'>): string {
  const isUnknown = isCommitting && error instanceof StorageUnavailableError;
  const outcome = isUnknown ? '; it is unknown whether anything was stored: check before you retry' : '';
  const reason = isExpected(error) ? error.message : (describeDenial(error) ?? describeUnexpected(error));
  return `${reason}${outcome}`;
}

const EXPECTED = [
  CommandError,
  RuntimeError,
  SchemaError,
  SettingsError,
  StorageUnavailableError,
  UnreadableInputError,
];

const isExpected = (error: unknown): error is Error => EXPECTED.some((kind) => error instanceof kind);

/** A defect of the program: everything known about it is shown. */
const describeUnexpected = (error: unknown): string =>
  `unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : error}`;
