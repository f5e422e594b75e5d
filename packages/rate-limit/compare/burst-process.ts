// One of several servers: bursts of requests of one caller, from all of them at the same moment, by each contender in
// turn. Prints the exchanges by contender. Arguments: a URL for each (comma separated), when to begin, requests of each.
import { CONTENDERS } from './contenders/index.ts';
import { type Exchange, exchange, exchangeAt } from './exchange.ts';

const [urls = '', startMs, requests] = process.argv.slice(2);
const GAP_MS = 500;

const results = CONTENDERS.map(async (contender, index): Promise<[string, Exchange[]]> => {
  await using opened = await contender.open(urls.split(',')[index] ?? '');
  await exchange(opened, 'warm-up0'); // connects
  const times = Array<number>(Number(requests)).fill(Number(startMs) + index * GAP_MS);
  return [contender.name, await exchangeAt(opened, 'burst000', times)];
});
process.stdout.write(JSON.stringify(Object.fromEntries(await Promise.all(results))));
