// Preloaded into a program (`--import`): appends the URL of every module that it loads to the file `LOADED_MODULES`.
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

// biome-ignore lint/style/noProcessEnv: a program that is loaded into has no other way to be told
const file = process.env['LOADED_MODULES'] ?? '';

registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(file, `${url}\n`);
    return nextLoad(url, context);
  },
});
