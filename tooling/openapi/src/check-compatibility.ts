// Holds each committed document against its last release. Exit code 1 where one breaks who relies on that.
import { basename } from 'node:path';
import { findBreakingChanges } from './compatibility/breaking-changes.ts';
import { documentFiles, lastRelease, readDocument, versionOf } from './documents.ts';

const now = new Date();
for (const file of documentFiles()) {
  const document = readDocument(file);
  const release = lastRelease(versionOf(document).split('.')[0] ?? '');
  if (release === undefined) {
    console.log(`${basename(file)}: not released yet, so nobody relies on it.`);
    continue;
  }
  const changes = findBreakingChanges(readDocument(release), document, now);
  for (const { at, what } of changes) console.error(`${basename(file)}: ${at}: ${what}`);
  if (changes.length > 0) process.exitCode = 1;
  else console.log(`${basename(file)}: breaks nothing of ${basename(release)}.`);
}
