import type pg from 'pg';

/** Commits the changes of the work, or rolls them back if it fails. */
export async function inTransaction<Value>(client: pg.Client, work: () => Promise<Value>): Promise<Value> {
  await client.query('begin');
  try {
    const value = await work();
    await client.query('commit');
    return value;
  } catch (error) {
    await client.query('rollback').catch(() => {}); // the first failure is the one to report
    throw error;
  }
}
