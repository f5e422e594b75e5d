import { type Exchange, JSON_TYPE } from './exchange.ts';

type Chunks = AsyncIterator<Uint8Array, unknown, undefined>;
type Result = ReturnType<Chunks['next']>;

/**
 * Answers with JSON that comes in pieces. What comes as one piece goes out as one piece, with its length; the rest is
 * sent as it comes. For HEAD nothing is asked for at all.
 */
export async function sendJsonChunks(exchange: Exchange, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  if (exchange.isHead) return exchange.sendHead(200, JSON_TYPE);
  const iterator = chunks[Symbol.asyncIterator]();
  const first = iterator.next();
  const { done, value } = await first;
  if (done === true) throw new Error('JSON that comes in pieces must have at least one.');
  const second = iterator.next();
  if (await isEnd(second)) return exchange.sendBytes(200, value, JSON_TYPE);
  if (!exchange.beginLongList()) exchange.refuseCrowded();
  else if (exchange.openStream(200, JSON_TYPE)) return sendChunks(exchange, iterator, first, second);
  // What was fetched ahead may still be under way, and nobody waits for it.
  iterator.return?.().catch(() => {});
}

/** Whether a result is the end and there already, so that nothing is waited for. */
export async function isEnd(result: Promise<IteratorResult<unknown, unknown>>): Promise<boolean> {
  let isDone = false;
  result.then(
    ({ done }) => {
      isDone = done === true;
    },
    () => {}, // whoever awaits the result hears of it
  );
  // Runs after everything that can be settled without waiting is settled.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  return isDone;
}

/**
 * Sends chunks as they come, on a stream that is open, and asks for none while the client does not read. Ends them when
 * the client is gone. Where they fail midway, or the client is too slow, the connection is cut, so that a part is never
 * taken for the whole.
 *
 * @param asked results that were asked for already, in order
 */
export async function sendChunks(exchange: Exchange, iterator: Chunks, ...asked: readonly Result[]): Promise<void> {
  const { response } = exchange;
  const writer = exchange.createWriter();
  try {
    for (let i = 0; ; i++) {
      const { done, value } = await (asked[i] ?? iterator.next());
      if (done === true) break;
      if (await writer.write(value)) continue;
      await iterator.return?.();
      if (!response.destroyed) return exchange.cutSlowReader();
      break;
    }
  } catch (error) {
    // Of a client that is gone nothing is left to fail.
    if (!response.destroyed) return exchange.breakStream(error);
  }
  exchange.closeStream();
}
