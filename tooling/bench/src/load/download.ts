import { Client } from 'undici';

export interface Download {
  readonly totalMs: number;
  readonly firstByteMs: number;
  readonly bytes: number;
}

/** After such a pause a list has come to a standstill: none of ours waits as long for a batch. */
const STANDSTILL_MS = 30_000;

/** Reads a list to its end, and keeps nothing of it. @throws Error unless the answer is 200 and whole, and comes without a standstill */
export async function download(listUrl: string, apiKey: string): Promise<Download> {
  const { origin, pathname } = new URL(listUrl);
  const client = new Client(origin, { headersTimeout: STANDSTILL_MS, bodyTimeout: STANDSTILL_MS });
  const startMs = performance.now();
  let firstByteMs = 0;
  let bytes = 0;
  let status = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${apiKey}` };
      client.dispatch(
        { path: pathname, method: 'GET', headers },
        {
          onRequestStart() {},
          onResponseStart(_controller, statusCode) {
            status = statusCode;
          },
          onResponseData(_controller, chunk) {
            if (bytes === 0) firstByteMs = performance.now() - startMs;
            bytes += chunk.length;
          },
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) =>
            reject(new Error(`the list broke off after ${bytes} bytes: ${error.message}`, { cause: error })),
        },
      );
    });
    const totalMs = performance.now() - startMs;
    if (status !== 200) throw new Error(`the list was answered with ${status}`);
    return { totalMs, firstByteMs, bytes };
  } finally {
    await client.close();
  }
}
