// Loaded into the server before it starts (`--import`): at each SIGUSR2 it writes a file of the folder TRACED_FILES, which
// lists the files of ours whose functions have run since the last one, a path a line.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(import.meta.dirname, '../../../../..');
const folder = process.env['TRACED_FILES'] ?? '';
const profiler = new Session();
profiler.connect();
await profiler.post('Profiler.enable');
await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
let taken = 0;

process.on('SIGUSR2', async () => {
  const { result } = await profiler.post('Profiler.takePreciseCoverage');
  const paths = result.flatMap(({ url, functions }) => {
    // The first function of a module is its own text, which runs when it is loaded.
    const hasRun = functions.some(
      ({ ranges: [range] }) => range !== undefined && range.count > 0 && range.startOffset > 0,
    );
    const path = hasRun && url.startsWith('file:') ? fileURLToPath(url).slice(ROOT.length + 1) : '';
    return /^(apps|packages)\/[^/]+\/src\//.test(path) ? [path] : [];
  });
  const file = join(folder, String(taken++));
  writeFileSync(`${file}.new`, paths.join('\n'));
  renameSync(`${file}.new`, file);
});
