import { Client } from 'undici';

/** A list that was begun, and that nobody reads until somebody does. */
export interface UnreadList extends AsyncDisposable {
  /** Reads what is there and what is still to come. @returns the bytes of the whole list @throws Error where it breaks off */
  read(): Promise<number>;
}

/** Asks for a list and takes no more of it than what fits between the two. @throws Error unless the answer is 200 */
export async function openUnreadList(listUrl: string, apiKey: string): Promise<UnreadList> {
  const { origin, pathname } = new URL(listUrl);
  const client = new Client(origin);
  const headers = { authorization: `Bearer ${apiKey}` };
  const { statusCode, body } = await client.request({ path: pathname, method: 'GET', headers });
  // Left unread, it fails when its connection is closed, and nobody waits for it.
  body.on('error', () => {});
  const list: UnreadList = {
    async read() {
      let bytes = 0;
      for await (const chunk of body) bytes += chunk.length;
      return bytes;
    },
    [Symbol.asyncDispose]: () => client.destroy(),
  };
  if (statusCode === 200) return list;
  await list[Symbol.asyncDispose]();
  throw new Error(`the list was answered with ${statusCode}`);
}
