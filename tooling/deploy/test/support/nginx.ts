import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable, SELF_SIGNED } from '@petstore/testing';
import { ROOT } from '../../src/build-folder.ts';
import { Program } from './program.ts';

interface ConfiguredNginx {
  /** A folder that may not be there yet. */
  readonly folder: string;
  readonly port: number;
  readonly serverPorts: readonly number[];
}

/** `deploy/nginx.conf` with what an operator puts in. @throws Error if it lacks a text that is to be replaced */
function readConfiguration(replacements: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(ROOT, 'deploy/nginx.conf'), 'utf8');
  return Object.entries(replacements).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`deploy/nginx.conf does not hold "${from}".`);
    return result.replace(from, to);
  }, text);
}

/** Runs nginx in a folder of its own, with these lines in `http`. */
function runNginx(folder: string, lines: string): Program {
  const program = findExecutable('nginx');
  if (program === undefined) throw new Error('nginx is not there: "sudo apt-get install nginx-light" (Debian).');
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};\n`,
  );
  const file = join(folder, 'nginx.conf');
  const http = `http {\naccess_log off;\n${folders.join('')}${lines}\n}\n`;
  writeFileSync(file, `daemon off;\npid ${join(folder, 'pid')};\nevents {}\n${http}`);
  return new Program([program, '-e', 'stderr', '-c', file]);
}

// It starts as root, and its workers then run as another user.
const makeFolder = (folder: string) => mkdirSync(folder, { recursive: true, mode: 0o711 });

/** Starts nginx with the configuration of `deploy`. */
export function startNginx({ folder, port, serverPorts }: ConfiguredNginx): Program {
  makeFolder(folder);
  const file = (name: string) => join(folder, name);
  writeFileSync(file('cert.pem'), SELF_SIGNED.cert);
  writeFileSync(file('key.pem'), SELF_SIGNED.key);
  const line = '    server 127.0.0.1:3000 max_fails=1 fail_timeout=2s;\n';
  const configuration = readConfiguration({
    [line]: serverPorts.map((serverPort) => line.replace('3000', `${serverPort}`)).join(''),
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    '    listen [::]:443 ssl http2;\n': '',
    '/etc/ssl/petstore/fullchain.pem': file('cert.pem'),
    '/etc/ssl/petstore/privkey.pem': file('key.pem'),
    '/var/cache/petstore': file('cache'),
  });
  return runNginx(folder, configuration);
}

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
  /** @default the address replaces what the client says of it */
  readonly forwarded?: string;
}

export function startNginxWith({ folder, port, serverPort, clientAddress }: ProxyPlace, lines: NginxLines): Program {
  const { http = '', location = '', path = '' } = lines;
  const { forwarded = `proxy_set_header X-Forwarded-For ${clientAddress};` } = lines;
  makeFolder(folder);
  const configuration = `
  ${http.replace('FOLDER', folder)}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_http_version 1.1;
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
`;
  return runNginx(folder, configuration);
}
