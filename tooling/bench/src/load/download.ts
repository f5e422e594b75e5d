import { Client } from 'undici';

export interface Download {
  readonly totalMs: number;
  readonly firstByteMs: number;
  readonly bytes: number;
}

/** After such a pause a list has come to a standstill: none of ours waits as long for a batch. */
const STANDSTILL_MS = 30_000;

/** Reads a list to its end and keeps nothing. @throws Error unless the response is 200 and whole, without a standstill */
export async function download(listUrl: string, apiKey: string): Promise<Download> {
  const { origin, pathname } = new URL(listUrl);
  const client = new Client(origin, { headersTimeout: STANDSTILL_MS, bodyTimeout: STANDSTILL_MS });
  try {
    const startMs = performance.now();
    const headers = { authorization: `Bearer ${apiKey}` };
    const { statusCode, body } = await client.request({ path: pathname, method: 'GET', headers });
    if (statusCode !== 200) throw new Error(`the response to the list has the status ${statusCode}`);
    let firstByteMs = 0;
    let bytes = 0;
    for await (const chunk of body) {
      if (bytes === 0) firstByteMs = performance.now() - startMs;
      bytes += chunk.length;
    }
    return { totalMs: performance.now() - startMs, firstByteMs, bytes };
  } finally {
    await client.destroy();
  }
}
