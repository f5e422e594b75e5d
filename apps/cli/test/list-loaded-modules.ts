// Loaded before the command (`--import`): writes the URL of every module that it loads as a line.
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(process.env['LOADED_MODULES'] ?? '', `${url}\n`);
    return nextLoad(url, context);
  },
});
