import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ORDINARY_USER, User, useDataFolders } from './support/data-folder-user.ts';
import { query } from './support/query.ts';

const folders = useDataFolders();
let folder: string;
beforeEach(() => {
  folder = folders.path;
});

test('only one server at a time runs on a data folder', async () => {
  folders.seed();
  await using first = new User(folder, ['server']);
  await first.said();
  await using second = new User(folder, ['server']);
  const { error } = await second.said();
  expect(error).toBe(
    `RuntimeError: Another server already runs on the data folder ${folder}. Stop it, or set DATA_DIR to another.`,
  );
});

describe('a data folder', () => {
  test('that a file is in the way of is refused in one line', async () => {
    writeFileSync(folder, '');
    await using user = new User(join(folder, 'below'));
    const { error } = await user.said();
    expect(error).toMatch(
      /^RuntimeError: The data folder \/.+ cannot be written to \(.+\)\. Set DATA_DIR to another\.$/,
    );
  });

  test('that may not be written to is refused in one line', async () => {
    mkdirSync(folder, { mode: 0o555 });
    chmodSync(join(folder, '..'), 0o755);
    await using user = new User(folder, [], ORDINARY_USER);
    const { error } = await user.said();
    expect(error).toMatch(/^RuntimeError: The data folder .+ cannot be written to \(permission denied\)/);
  });

  test('works for an ordinary user, then for the user of the tests, maybe root, and again', async () => {
    mkdirSync(folder);
    chmodSync(join(folder, '..'), 0o755);
    if (ORDINARY_USER !== undefined) chownSync(folder, ORDINARY_USER, ORDINARY_USER);
    {
      await using ordinary = new User(folder, [], ORDINARY_USER);
      await query((await ordinary.said()).url, 'CREATE TABLE kept ()');
    }
    {
      await using second = new User(folder);
      expect(await query((await second.said()).url, 'SELECT * FROM kept')).toEqual([]);
    }
    await using third = new User(folder, [], ORDINARY_USER);
    expect(await query((await third.said()).url, 'SELECT * FROM kept')).toEqual([]);
  });
});
