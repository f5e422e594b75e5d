// Compares each committed document with its last release. Exit code 1 if one breaks callers of that release.
import { basename } from 'node:path';
import { documentFiles, lastRelease, readDocument, versionOf } from './documents.ts';
import { findBrokenPromises } from './released-contract.ts';

for (const file of documentFiles()) {
  const document = readDocument(file);
  const name = basename(file);
  const release = lastRelease(versionOf(document).split('.')[0] ?? '');
  if (release === undefined) {
    console.log(`${name}: not released yet.`);
    continue;
  }
  const broken = findBrokenPromises(readDocument(release), document, new Date());
  for (const difference of broken)
    console.error(`${name}: ${difference}, which breaks callers of ${basename(release)}`);
  if (broken.length > 0) process.exitCode = 1;
  else console.log(`${name}: holds all of ${basename(release)}.`);
}
