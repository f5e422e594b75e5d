// Keeps the committed documents as released, each under its `info.version`. A released document is never overwritten.
import { copyFileSync, existsSync } from 'node:fs';
import { basename } from 'node:path';
import { documentFiles, readDocument, releaseFile, versionOf } from './documents.ts';

for (const file of documentFiles()) {
  const version = versionOf(readDocument(file));
  const target = releaseFile(version);
  if (version.includes('-')) console.log(`${version} is a preview and is not released.`);
  else if (existsSync(target)) console.log(`${version} was released before. Raise \`documentVersion\` for another.`);
  else {
    copyFileSync(file, target);
    console.log(`${version} is released: commit packages/api/released/${basename(target)}.`);
  }
}
