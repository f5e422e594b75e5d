// Keeps the committed documents as released, each under its `info.version`. Until the tag of a version exists, its document
// is what that version will be, and is written anew; from then on it is never overwritten.
import { copyFileSync } from 'node:fs';
import { basename } from 'node:path';
import { runGit } from '@petstore/runtime/git';
import { documentFiles, readDocument, releaseFile, versionOf } from './documents.ts';

const isTagged = (version: string): boolean => runGit(import.meta.dirname, 'tag', '--list', `v${version}`) !== '';

for (const file of documentFiles()) {
  const version = versionOf(readDocument(file));
  const target = releaseFile(version);
  if (version.includes('-')) console.log(`${version} is a preview and is not released.`);
  else if (isTagged(version)) console.log(`${version} was released before. Raise \`documentVersion\` for another.`);
  else {
    copyFileSync(file, target);
    console.log(
      `This is what ${version} will be, until the tag v${version} exists: commit packages/api/released/${basename(target)}.`,
    );
  }
}
