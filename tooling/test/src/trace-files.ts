/**
 * Which of our files a request runs through. To be loaded before the server (`pnpm trace`): at each SIGUSR2 the process
 * prints to standard error the files of `apps` and `packages` whose functions have run since the last one, a path a line.
 */
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(import.meta.dirname, '../../..');
const profiler = new Session();
profiler.connect();
await profiler.post('Profiler.enable');
await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

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
  process.stderr.write([`${paths.length} files have run:`, ...paths.toSorted(), ''].join('\n'));
});
process.stderr.write(`kill -USR2 ${process.pid} prints the files that have run since the last time\n`);
