import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The address of PostgreSQL as a virtual IP or a proxy gives it: a failover moves it from one server to another. */
export class MovingAddress implements AsyncDisposable {
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();
  #serverUrl: URL;

  private constructor(serverUrl: string) {
    this.#serverUrl = new URL(serverUrl);
    this.#listener = createServer((client) => {
      const server = connect(Number(this.#serverUrl.port), this.#serverUrl.hostname);
      for (const [from, to] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(from);
        from
          .on('error', () => {})
          .on('close', () => {
            this.#sockets.delete(from);
            to.destroy();
          });
        from.pipe(to);
      }
    });
  }

  static async of(serverUrl: string): Promise<MovingAddress> {
    const address = new MovingAddress(serverUrl);
    await once(address.#listener.listen(0, '127.0.0.1'), 'listening');
    return address;
  }

  get url(): string {
    const { port } = this.#listener.address() as AddressInfo; // it listens on a port
    return Object.assign(new URL(this.#serverUrl), { hostname: '127.0.0.1', port }).href;
  }

  /** Connections end, and new ones lead to the other server. */
  moveTo(serverUrl: string): void {
    this.#serverUrl = new URL(serverUrl);
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#listener.close();
    await once(this.#listener, 'close');
  }
}
