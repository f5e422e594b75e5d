import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@petstore/server/test-support/documentation';

/** The path below the root. */
export const RUNBOOK_FILE = 'docs/runbook.md';

export const RUNBOOK = readFileSync(join(ROOT, RUNBOOK_FILE), 'utf8');

const [, ...sections] = RUNBOOK.split(/^## /m);

/** What the runbook says of each alert, by its heading. */
export const SECTIONS: ReadonlyMap<string, string> = new Map(
  sections.map((section): [string, string] => [section.slice(0, section.indexOf('\n')), section]),
);

/** @throws Error if the runbook has no section for the alert */
export function sectionOf(alert: string): string {
  const section = SECTIONS.get(alert);
  if (section === undefined) throw new Error(`${RUNBOOK_FILE} has no section "${alert}"`);
  return section;
}
