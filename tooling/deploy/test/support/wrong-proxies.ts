import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { programOf } from './balancers.ts';
import { Program } from './program.ts';

/** A proxy on loopback, in front of one server. */
interface ProxyPlace {
  /** A folder that may not be there yet. */
  readonly folder: string;
  readonly port: number;
  readonly serverPort: number;
  /** What the proxy calls its client, so that each has limits of its own. */
  readonly clientAddress: string;
}

/** What a configuration has besides the least that a proxy needs, or in place of some of it. */
export interface NginxLines {
  /** Of the whole of `http`. */
  readonly http?: string;
  /** Of `location /`. */
  readonly location?: string;
  /** What follows the server's address in `proxy_pass`. */
  readonly path?: string;
  /** Of HTTP, to the server. With 1.1 chunks of a response are passed on as they come, even if it buffers. @default 1.1 */
  readonly version?: '1.0' | '1.1';
  /** @default the address replaces what the client says of it */
  readonly forwarded?: string;
}

export function startNginxWith({ folder, port, serverPort, clientAddress }: ProxyPlace, lines: NginxLines): Program {
  const { http = '', location = '', path = '', version = '1.1' } = lines;
  const { forwarded = `proxy_set_header X-Forwarded-For ${clientAddress};` } = lines;
  // It starts as root, and its workers then run as another user.
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const configuration = `
daemon off;
pid ${join(folder, 'pid')};
events {}
http {
  access_log off;
  ${folders.join('\n  ')}
  ${http.replace('FOLDER', folder)}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_http_version ${version};
      proxy_set_header Connection "";
      ${forwarded}
      ${location}
      proxy_pass http://127.0.0.1:${serverPort}${path};
    }
    location @page {
      internal;
      default_type text/html;
      return 200 '<h1>Something went wrong</h1>';
    }
  }
}
`;
  writeFileSync(join(folder, 'nginx.conf'), configuration);
  return new Program([programOf('nginx'), '-e', 'stderr', '-c', join(folder, 'nginx.conf')]);
}

export interface HaproxyLines {
  /** Of the whole file. */
  readonly sections?: string;
  /** Of the proxy. */
  readonly rules?: string;
  /** @default the address replaces what the client says of it */
  readonly forwarded?: string;
}

export function startHaproxyWith(
  { folder, port, serverPort, clientAddress }: ProxyPlace,
  lines: HaproxyLines,
): Program {
  const { sections = '', rules = '' } = lines;
  const { forwarded = `http-request set-header X-Forwarded-For ${clientAddress}` } = lines;
  mkdirSync(folder, { recursive: true });
  const configuration = `
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
${sections}
listen api
    bind 127.0.0.1:${port}
    ${forwarded}
    ${rules}
    server one 127.0.0.1:${serverPort}
`;
  writeFileSync(join(folder, 'haproxy.cfg'), configuration);
  return new Program([programOf('haproxy'), '-db', '-f', join(folder, 'haproxy.cfg')]);
}

/** A proxy that parses what is JSON and writes it again, as gateways do that inspect or log bodies. */
export async function startJsonRewriter({ port, serverPort, clientAddress }: ProxyPlace): Promise<AsyncDisposable> {
  const server = createServer((received, response) => {
    const { method, url: path, headers } = received;
    const forwarded = { ...headers, 'x-forwarded-for': clientAddress };
    const sent = request({ port: serverPort, method, path, headers: forwarded }, async (answer) => {
      const isJson = answer.headers['content-type'] === 'application/json';
      const { 'content-length': _, ...kept } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, isJson ? kept : answer.headers);
      if (isJson && method !== 'HEAD') response.end(JSON.stringify(JSON.parse(await text(answer))));
      else answer.pipe(response);
    });
    response.on('close', () => sent.destroy());
    received.pipe(sent);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
