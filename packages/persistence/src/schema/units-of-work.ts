import type { EntityManager } from '@mikro-orm/postgresql';
import type { Database } from '../database/database.ts';
import { TOO_LATE } from '../database/errors.ts';

export type Entities = typeof import('./entities.ts');

/** Works with entities, for which it gets an identity map of its own. */
type Work<Value> = (em: EntityManager, entities: Entities) => Promise<Value>;

/**
 * Work with MikroORM's entities, for what is rare: an entity costs several times the processor time of its statement.
 *
 * MikroORM is loaded once. That takes longer than a server's start, so it happens at the first unit of work, or by
 * {@link load} while nobody waits.
 */
export interface UnitsOfWork {
  /** Loads MikroORM. */
  load(): Promise<void>;
  /** Reads entities, each statement by itself. */
  read<Value>(work: Work<Value>): Promise<Value>;
  /** Changes entities in a transaction, which is rolled back if the work fails, or if its caller has given up before the commit. */
  change<Value>(work: Work<Value>): Promise<Value>;
}

async function loadOrm() {
  const [{ createOrm, onConnection }, entities] = await Promise.all([import('./orm.ts'), import('./entities.ts')]);
  return { orm: createOrm(), onConnection, entities };
}

/** Units of work on the connections of requests. A caller waits for one as long as for a statement. */
export function createUnitsOfWork(database: Database): UnitsOfWork {
  let loaded: ReturnType<typeof loadOrm> | undefined;
  const load = () => (loaded ??= loadOrm());
  return {
    async load() {
      await load();
    },
    async read(work) {
      const { orm, onConnection, entities } = await load();
      return database.lend('requests', (client) => onConnection(client, () => work(orm.em.fork(), entities)));
    },
    async change(work) {
      const { orm, onConnection, entities } = await load();
      return database.lend('writes', (client, caller) =>
        onConnection(client, () =>
          orm.em.fork().transactional(async (em) => {
            const value = await work(em, entities);
            if (!caller.isWaiting) throw TOO_LATE; // nobody would learn the secret of a new key
            return value;
          }),
        ),
      );
    },
  };
}
