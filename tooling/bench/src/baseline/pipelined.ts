import pg from 'pg';

const connectionOptions = (databaseUrl: string) => ({
  connectionString: databaseUrl,
  options: '-c TimeZone=UTC -c DateStyle=ISO',
});

/**
 * Opens connections that are used in turn, and on which statements are sent without waiting for earlier results.
 *
 * @returns a function that returns the next connection
 */
export function openPipelines(databaseUrl: string, size: number): () => Promise<pg.Client> {
  const clients: (Promise<pg.Client> | undefined)[] = [];
  let turn = 0;
  return () => {
    const i = turn++ % size;
    clients[i] ??= connect(databaseUrl, () => {
      clients[i] = undefined;
    });
    return clients[i];
  };
}

async function connect(databaseUrl: string, onLoss: () => void): Promise<pg.Client> {
  const client = new pg.Client({ ...connectionOptions(databaseUrl), pipeline: true });
  client.on('error', onLoss).on('end', onLoss);
  await client.connect().catch((error: unknown) => {
    onLoss();
    throw error;
  });
  return client;
}
