/** This limiter beside those that are commonly used from npm. See docs/rate-limiting-compared.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { constants, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { compare } from './compare.ts';
import { renderPicture } from './picture.ts';
import { openRedis } from './redis-servers.ts';
import { renderMarkdown, renderText } from './tables.ts';

const DOCUMENT = new URL('../../../docs/rate-limiting.md', import.meta.url);
const PICTURE = new URL('../../../docs/rate-limiting-compared.svg', import.meta.url);
const GENERATED = /(?<=<!-- generated -->\n).*(?=<!-- \/generated -->)/s;

/** @returns the exit code */
async function main(): Promise<number> {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
  const interrupted = Promise.withResolvers<number>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.resolve(128 + constants.signals[signal]));
  }
  await using redis = await openRedis();
  await using doomedRedis = await openRedis();
  const showProgress = (text: string) =>
    console.error(`${(performance.now() / 1_000).toFixed(0).padStart(4)} s  ${text}`);
  const done = compare({ redis, doomedRedis, showProgress }).then((results) => {
    // What else the machine did, on average of the run.
    const load = `load average ${loadavg()[1]?.toFixed(1)}`;
    const processor = cpus()[0]?.model.trim() ?? 'unknown processor';
    const machine = `${cpus().length} x ${processor}, Node ${process.versions.node}, ${load}`;
    console.log(`${renderText(results)}\n\n${machine}.`);
    if (!values.write) return 0;
    const date = new Date().toISOString().slice(0, 10);
    const generated = `\nMeasured on ${date}, ${machine}.\n\n${renderMarkdown(results)}\n\n`;
    const document = readFileSync(DOCUMENT, 'utf8').replace(GENERATED, () => generated);
    writeFileSync(DOCUMENT, document);
    writeFileSync(PICTURE, renderPicture(results));
    return 0;
  });
  // After a signal it still runs, and fails because its servers have ended.
  done.catch(() => {});
  return await Promise.race([done, interrupted.promise]);
}

// Waiting for a server to end keeps no process alive.
setInterval(() => {}, 1_000);
process.exit(await main());
