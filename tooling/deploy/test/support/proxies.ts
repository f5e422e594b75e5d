import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable, SELF_SIGNED } from '@petstore/testing';
import { ROOT } from '../../src/build-folder.ts';
import { Program } from './program.ts';

/** Those of one port share it. */
export interface BalancedServer {
  readonly port: number;
  readonly adminPort: number;
}

interface BalancerOptions {
  /** An empty folder. */
  readonly folder: string;
  readonly port: number;
  readonly servers: readonly BalancedServer[];
}

/** A file of `deploy` with what an operator puts in. @throws Error where it lacks a text that is to be replaced */
function readConfiguration(name: string, replacements: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(ROOT, 'deploy', name), 'utf8');
  return Object.entries(replacements).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`deploy/${name} does not hold "${from}".`);
    return result.replace(from, to);
  }, text);
}

function programOf(name: string): string {
  const program = findExecutable(name);
  if (program === undefined) throw new Error(`${name} is not there: "sudo apt-get install ${name}" (Debian).`);
  return program;
}

function startNginx({ folder, port, servers }: BalancerOptions): Program {
  const file = (name: string) => join(folder, name);
  writeFileSync(file('cert.pem'), SELF_SIGNED.cert);
  writeFileSync(file('key.pem'), SELF_SIGNED.key);
  const line = '    server 127.0.0.1:3000 max_fails=1 fail_timeout=2s;\n';
  const configuration = readConfiguration('nginx.conf', {
    [line]: [...new Set(servers.map(({ port }) => line.replace('3000', `${port}`)))].join(''),
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    '    listen [::]:443 ssl http2;\n': '',
    '/etc/ssl/petstore/fullchain.pem': file('cert.pem'),
    '/etc/ssl/petstore/privkey.pem': file('key.pem'),
    '/var/cache/petstore': file('cache'),
  });
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${file(name)};`,
  );
  writeFileSync(
    file('nginx.conf'),
    `daemon off;\npid ${file('pid')};\nevents {}\nhttp {\naccess_log off;\n${folders.join('\n')}\n${configuration}}\n`,
  );
  return new Program([programOf('nginx'), '-e', 'stderr', '-c', file('nginx.conf')]);
}

function startHaproxy({ folder, port, servers }: BalancerOptions): Program {
  const file = (name: string) => join(folder, name);
  writeFileSync(file('petstore.pem'), `${SELF_SIGNED.cert}\n${SELF_SIGNED.key}\n`);
  const [one, two] = servers;
  const configuration = readConfiguration('haproxy.cfg', {
    '    user haproxy\n    group haproxy\n': '',
    'bind :443 ssl crt /etc/haproxy/petstore.pem': `bind 127.0.0.1:${port} ssl crt ${file('petstore.pem')}`,
    'server one-1 127.0.0.1:3000 port 3001': `server one-1 127.0.0.1:${one?.port} port ${one?.adminPort}`,
    'server one-2 127.0.0.1:3002 port 3003': `server one-2 127.0.0.1:${two?.port} port ${two?.adminPort}`,
  });
  writeFileSync(file('haproxy.cfg'), configuration);
  return new Program([programOf('haproxy'), '-db', '-f', file('haproxy.cfg')]);
}

const STARTS = { nginx: startNginx, HAProxy: startHaproxy };

export type BalancerName = keyof typeof STARTS;

/** Starts a balancer with the configuration of `deploy`, in front of two servers. */
export function startBalancer(name: BalancerName, { folder, port, servers }: BalancerOptions): Program {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  return STARTS[name]({ folder, port, servers });
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
}
`;
  writeFileSync(join(folder, 'nginx.conf'), configuration);
  return new Program([programOf('nginx'), '-e', 'stderr', '-c', join(folder, 'nginx.conf')]);
}
