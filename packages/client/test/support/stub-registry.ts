import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type ScriptedServer, startScriptedServer } from './scripted-server.ts';

/** What a registry keeps of a package. */
interface Publication {
  readonly name: string;
  readonly versions: Readonly<Record<string, { readonly exports: unknown }>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

interface StubRegistry extends ScriptedServer {
  readonly published: () => Publication | undefined;
}

/** A registry of this one package, as far as npm needs one to publish and to install. */
export async function startStubRegistry(): Promise<StubRegistry> {
  let published: Publication | undefined;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    const isPackage = url.startsWith('/@petstore%2fclient');
    if (method === 'PUT' && isPackage) {
      published = JSON.parse(await text(request)); // as npm sends it
      response.writeHead(201, { 'content-type': 'application/json' }).end('{}');
    } else if (published !== undefined && isPackage) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(published));
    } else if (published !== undefined && url.endsWith('.tgz')) {
      const [{ data } = { data: '' }] = Object.values(published._attachments);
      response.writeHead(200).end(Buffer.from(data, 'base64'));
    } else response.writeHead(404).end('{}');
  }
  const server = await startScriptedServer((request, response) => void answer(request, response));
  return Object.assign(server, { published: () => published });
}
