import pg from 'pg';
import { type DatabaseServers, endConnection, moveTo, withinTimeout } from './database-servers.ts';
import type { SessionSettings } from './session.ts';

/** A class of clients for pg's pool: they connect where the servers of a database are, and have the session wanted. */
export function clientOf(servers: DatabaseServers, session: SessionSettings): typeof pg.Client {
  return class ClientOfServers extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error | null) => void): void;
    override connect(callback?: (error: Error | null) => void): Promise<pg.Client> | undefined {
      const opening = this.#open();
      if (callback === undefined) return opening;
      opening.then(() => callback(null), callback);
      return undefined;
    }

    async #open(): Promise<this> {
      moveTo(this, await servers.locate({ forWrites: false }));
      try {
        await withinTimeout(this, async () => {
          await super.connect();
          await servers.begin(this, session);
        });
      } catch (error) {
        void endConnection(this);
        throw error;
      }
      return this;
    }
  };
}
