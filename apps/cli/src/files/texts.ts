import { CommandError } from '../errors.ts';

// Any text, as files hold it, so that an import reads the same text again.

/** An import takes this character for bytes that are not UTF-8; written as an escape, it is an ordinary character. */
const REPLACEMENT_CHARACTER = /\ufffd/g;

export const textToJson = (text: string): string => JSON.stringify(text).replace(REPLACEMENT_CHARACTER, '\\ufffd');

/**
 * @param what names the text in the message
 * @throws CommandError if an import would not read the same text from CSV, which has no escapes
 */
export function textToCsv(text: string, what: string): string {
  if (text.includes('\ufffd')) {
    throw new CommandError(`${what} has a character that CSV cannot hold; use --format ndjson`);
  }
  return text === text.trim() && !/[",\r\n]/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}
