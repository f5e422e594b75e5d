import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Forwards connections to a port of this machine. What stands before Redis in the field: a network, a virtual address. */
export class TcpProxy implements AsyncDisposable {
  readonly #delayMs: () => number;
  readonly #server = createServer((socket) => this.#forward(socket));
  readonly #sockets = new Set<Socket>();
  #target: number;

  /** @param delayMs how long the next bytes are held up; their order is kept */
  constructor(target: number, delayMs: () => number = () => 0) {
    this.#target = target;
    this.#delayMs = delayMs;
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port; // a TCP listener
  }

  /** Forwards to another port from now on, and ends the connections that there are. */
  switchTo(target: number): void {
    this.#target = target;
    this.#end();
  }

  #forward(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    this.#join(client, server);
    this.#join(server, client);
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    let sent = Promise.resolve();
    from.on('data', (data) => {
      const held = sleep(this.#delayMs());
      sent = Promise.all([sent, held]).then(() => void to.write(data));
    });
    from.on('error', () => {}); // the other end is gone; 'close' follows
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }

  #end(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
