/** Builds the deployed folder, `dist/petstore` at the root. */
import { join } from 'node:path';
import { buildFolder, ROOT } from './build-folder.ts';

const folder = join(ROOT, 'dist/petstore');
await buildFolder(folder);
console.log(
  'Built dist/petstore: "node server.js" and "node petstore.js" in it need Node 24.16 or newer, and nothing else.',
);
